// A TCP or TLS connection of the HTTP client, with blocking calls and a time limit. Not
// thread-safe.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/span_body.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/http_client/tls_client.hpp"
#include "base/http_client/url.hpp"

namespace muster {

bool is_timeout(boost::system::error_code ec);

class client_socket {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using error_code = boost::system::error_code;
  using request_message = boost::beast::http::request<boost::beast::http::span_body<char const>>;
  using answer_parser = boost::beast::http::response_parser<boost::beast::http::buffer_body>;

  explicit client_socket(https_options tls) : tls_(std::move(tls)) {}
  client_socket(client_socket const&) = delete;

  /// Resolves the name, connects and performs the TLS handshake before `limit`.
  /// @return UNAVAILABLE if the server cannot be reached in time, UNAUTHENTICATED if its
  /// certificate is rejected, INVALID_ARGUMENT if a TLS file is unusable
  http_error connect(http_target const& target, std::optional<time_point> limit);
  void close();
  /// Returns whether the socket is connected to this server and has received neither unexpected
  /// data nor a close.
  bool usable_for(http_target const& target);

  /// Sets the time limit for the following operations. Without `at`, there is no limit.
  void limit(std::optional<time_point> at);
  error_code write(request_message const& message);
  error_code read_header(answer_parser& parser);
  error_code read_some(answer_parser& parser);

 private:
  template <class Start>
  error_code perform(Start const& start);
  template <class Start>
  error_code perform_on_stream(Start const& start);
  http_error connect_tcp(http_target const& target, std::optional<time_point> at);
  http_error tls_handshake(http_target const& target);

  https_options tls_;
  boost::asio::io_context context_{1};
  boost::beast::tcp_stream tcp_{context_};
  std::unique_ptr<boost::asio::ssl::context> tls_context_;
  std::optional<boost::asio::ssl::stream<boost::beast::tcp_stream&>> secure_;
  boost::beast::flat_buffer buffer_;
  std::string connected_to_;
};

}  // namespace muster
