// A request, its answer and the exchange between them, as the handlers see them: no socket and no
// Beast type. Owned by the connection for the time of one exchange, web thread.
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
  std::string method;                                         // "GET"
  std::string target;                                         // as sent
  std::string path;                                           // without the query, still escaped
  std::vector<std::pair<std::string, std::string>> query;     // decoded
  std::vector<std::pair<std::string, std::string>> captures;  // path parameters, decoded
  std::string body;

  // The headers that somebody looks at.
  std::string host, origin, content_type, content_encoding, accept, accept_encoding;
  std::string if_none_match, authorization, cookie;
  std::string idempotency_key;
  std::string address;          // of the client: "10.0.0.3"
  std::string certificate;      // the common name in the one that it showed
  core::caller who;             // known to be; null: nobody in particular
  bool ends_own_token = false;  // its answer is sent although the caller's token ends with it
  bool has_body = false;
  std::optional<std::uint64_t> content_length;
  bool http_1_0 = false;

  bool is_head() const { return method == "HEAD"; }
  /// First value, or empty.
  std::string_view capture(std::string_view name) const;
  std::string_view parameter(std::string_view name) const;
};

struct response {
  unsigned status = 200;
  std::string content_type = "application/json";  // none is sent when empty
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  core::blob shared;          // instead of `body` when it holds something: not copied
  std::string_view embedded;  // instead of `body` when not empty: lives as long as the program
  bool streamed = false;      // the handler has written everything through the exchange
  bool close = false;         // the connection ends after this answer

  std::string_view content() const {
    return !embedded.empty() ? embedded : shared ? shared.view() : std::string_view(body);
  }
};

response json_response(std::string body, unsigned status = 200);
/// 204.
response no_content();
response text_response(std::string body, unsigned status = 200);
response problem_response(problem const& p);
response problem_response(muster::status const& s);

class exchange {
 public:
  virtual ~exchange() = default;

  request req;

  /// The next piece of the body, at most 64 KiB; empty at its end. Errors are problems: 400, 408,
  /// or the connection is lost (the answer will reach nobody).
  virtual coro::task<muster::result<std::string>> read_some() = 0;

  /// Sends status and headers of an answer whose body follows in pieces. False: the client is gone.
  virtual coro::task<bool> begin_stream(response head) = 0;
  /// Completes when the system has taken the piece: that is the back-pressure. False as above.
  virtual coro::task<bool> write_piece(std::string piece) = 0;
  virtual coro::task<bool> end_stream() = 0;

  virtual peer_watch& peer() = 0;
  /// The server wants to stop: answers that would go on should come to an end.
  virtual bool stopping() const = 0;
};

}  // namespace muster::web
