// An HTTP request, its response and their exchange, without socket or Beast types. The connection
// owns these objects during one exchange. Used on the web thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coro/task.hpp"
#include "server/core/access/token.hpp"
#include "server/core/api/blob.hpp"
#include "web/http/peer.hpp"
#include "web/json/problem.hpp"

namespace muster::web {

struct request {
  std::string method;
  std::string target;
  std::string path;                                        // path without the query; still escaped
  std::vector<std::pair<std::string, std::string>> query;  // decoded parameters
  std::vector<std::pair<std::string, std::string>> captures;
  std::string body;

  std::string host, origin, content_type, content_encoding, accept, accept_encoding;
  std::string if_none_match, authorization, cookie;
  std::string idempotency_key;
  std::string address;
  std::string certificate;
  core::caller who;  // null if anonymous
  // True if the request ends its own token; the response is sent nevertheless.
  bool ends_own_token = false;
  bool has_body = false;
  std::optional<std::uint64_t> content_length;
  bool http_1_0 = false;

  bool is_head() const { return method == "HEAD"; }
  std::string_view capture(std::string_view name) const;
  std::string_view parameter(std::string_view name) const;
};

struct response {
  unsigned status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  core::blob shared;
  std::string_view embedded;  // if not empty, this static text is sent instead of `body`
  bool streamed = false;      // true if the handler has already sent the whole response
  bool close = false;

  std::string_view content() const {
    return !embedded.empty() ? embedded : shared ? shared.view() : std::string_view(body);
  }
};

response json_response(std::string body, unsigned status = 200);
response no_content();
response text_response(std::string body, unsigned status = 200);
response problem_response(problem const& p);
response problem_response(muster::status const& s);

class exchange {
 public:
  virtual ~exchange() = default;

  request req;

  /// Returns the next chunk of the body, at most 64 KiB, or an empty string at its end. Returns
  /// 400, 408, or an error if the connection was lost, after which no response can be sent.
  virtual coro::task<muster::result<std::string>> read_some() = 0;

  /// Sends the headers of a response whose body follows in chunks. Returns false if the client has
  /// disconnected or the request is a HEAD request.
  virtual coro::task<bool> begin_stream(response head) = 0;
  /// Completes when the kernel has accepted the chunk (back-pressure). Returns false if the client
  /// has disconnected.
  virtual coro::task<bool> write_piece(std::string piece) = 0;
  virtual coro::task<bool> end_stream() = 0;

  virtual peer_watch& peer() = 0;
  virtual bool stopping() const = 0;
};

}  // namespace muster::web
