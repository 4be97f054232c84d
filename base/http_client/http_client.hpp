// A small blocking HTTP/1.1 client for the CLI verbs, the cluster resolvers and the tests:
// `http://` and `https://` URLs, one connection that is kept alive between requests, errors as a
// kind and a text that says what went wrong. Follows no redirects. Used by one thread at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/http_client/http_error.hpp"

namespace muster {

struct http_request {
  std::string method = "GET";
  std::string url;  // "http://127.0.0.1:8477/api/v1/jobs?limit=3"
  std::string body = {};
  std::string content_type = "application/json";  // sent when there is a body
  std::string token = {};  // sent as `Authorization: Bearer …` unless empty
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// For the whole exchange; for a stream, for each wait on the server (0: as long as it takes).
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
};

struct http_response {
  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  bool ok() const { return status >= 200 && status < 300; }
  /// First header of this name in any case, else empty.
  std::string_view header(std::string_view name) const;
};

struct http_client_options {
  /// Longer answers are an error (RESOURCE_EXHAUSTED); streams have no limit but on a line.
  std::size_t answer_bytes_max = std::size_t{1} << 30;
  /// Authorities for `https://` in PEM form; empty: the system's.
  std::string ca_file = {};
  /// False: `https://` takes any certificate, so anybody may answer.
  bool verify = true;
  /// Shown to a server that asks who calls, PEM files; empty: nothing is.
  std::string certificate_file = {}, key_file = {};
};

class http_client {
 public:
  explicit http_client(http_client_options options = {});
  ~http_client();
  http_client(http_client&&) noexcept;
  http_client& operator=(http_client&&) noexcept;

  /// Any HTTP status is a result. INVALID_ARGUMENT: the URL, a header or a file of TLS;
  /// UNAVAILABLE: cannot connect, or the connection broke; UNAUTHENTICATED: the server's
  /// certificate is not accepted; DEADLINE_EXCEEDED.
  http_result<http_response> send(http_request const& request);

  /// As send, but hands each line of a 2xx body (without its end) to `line` as it arrives; false
  /// from it ends the exchange early. Bodies of other statuses are in the result.
  using line_handler = std::function<bool(std::string_view line)>;
  http_result<http_response> stream(http_request const& request, line_handler const& line);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace muster
