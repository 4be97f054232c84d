// Blocking HTTP/1.1 client for CLI commands, cluster resolvers and tests. Keeps one connection
// alive between requests. Does not follow redirects. Not thread-safe.
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
  std::string url;
  std::string body = {};
  std::string content_type = "application/json";
  std::string token = {};  // sent as `Authorization: Bearer …` unless empty
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Time limit for the whole exchange; for a stream, the limit for each read. If 0, streams have
  /// no limit.
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
};

struct http_response {
  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;

  bool ok() const { return status >= 200 && status < 300; }
  /// Returns the first header with this name, ignoring case, or an empty string.
  std::string_view header(std::string_view name) const;
};

struct http_client_options {
  /// Maximum size of a response body. Larger bodies fail with RESOURCE_EXHAUSTED. In streams, the
  /// limit applies to each line.
  std::size_t answer_bytes_max = std::size_t{1} << 30;
  /// CA certificates for `https://`, in PEM. If empty, the system's CA certificates are used.
  std::string ca_file = {};
  bool verify = true;
  /// PEM files of the client certificate and its key. Empty without a client certificate.
  std::string certificate_file = {}, key_file = {};
};

class http_client {
 public:
  explicit http_client(http_client_options options = {});
  ~http_client();
  http_client(http_client&&) noexcept;
  http_client& operator=(http_client&&) noexcept;

  /// Sends a request. Any HTTP status is a result, not an error.
  /// @return INVALID_ARGUMENT if the URL, a header or a TLS file is invalid; UNAVAILABLE if the
  /// connection fails or breaks; UNAUTHENTICATED if the server's certificate is rejected;
  /// DEADLINE_EXCEEDED
  http_result<http_response> send(http_request const& request);

  /// Calls `line` for each line of a 2xx body as it arrives, without its newline, until `line`
  /// returns false. The result contains the body of any other response. Otherwise behaves like
  /// send.
  using line_handler = std::function<bool(std::string_view line)>;
  http_result<http_response> stream(http_request const& request, line_handler const& line);

 private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

}  // namespace muster
