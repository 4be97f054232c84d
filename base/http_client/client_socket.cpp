#include "base/http_client/client_socket.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "base/http_client/name_lookup.hpp"
#include "base/text.hpp"

namespace muster {

namespace asio = boost::asio;
namespace beast = boost::beast;
using boost::system::error_code;
using tcp = asio::ip::tcp;

namespace {

http_failure failure_of(error_code ec) {
  if (is_timeout(ec)) return http_failure::timed_out;
  if (ec == asio::error::connection_refused) return http_failure::refused;
  bool const no_name =
      ec == asio::error::host_not_found || ec == asio::error::host_not_found_try_again;
  return no_name ? http_failure::name_unknown : http_failure::unreachable;
}

http_error cannot_reach(http_target const& t, error_code ec) {
  auto const why = is_timeout(ec) ? "timed out" : lower(ec.message());
  return {{muster::code::unavailable, "cannot reach " + t.url() + ": " + why}, failure_of(ec)};
}

}  // namespace

bool is_timeout(error_code ec) {
  return ec == beast::error::timeout || ec == asio::error::timed_out;
}

template <class Start>
error_code client_socket::perform(Start const& start) {
  error_code result;
  start([&result](error_code ec, auto const&...) { result = ec; });
  context_.restart();
  context_.run();
  return result;
}

template <class Start>
error_code client_socket::perform_on_stream(Start const& start) {
  return perform([&](auto done) {
    if (secure_)
      start(*secure_, std::move(done));
    else
      start(tcp_, std::move(done));
  });
}

void client_socket::limit(std::optional<time_point> at) {
  if (at)
    tcp_.expires_at(*at);
  else
    tcp_.expires_never();
}

void client_socket::close() {
  error_code ignored;
  tcp_.socket().close(ignored);
  secure_.reset();
  connected_to_.clear();
  buffer_.clear();
}

http_error client_socket::connect_tcp(http_target const& t, std::optional<time_point> at) {
  auto const found = look_up(t.host, t.port, at);
  if (found.error) return cannot_reach(t, found.error);
  limit(at);
  auto const ec = perform([&](auto done) { tcp_.async_connect(found.endpoints, std::move(done)); });
  if (ec) return cannot_reach(t, ec);
  error_code ignored;
  tcp_.socket().set_option(tcp::no_delay(true), ignored);
  tcp_.socket().set_option(asio::socket_base::keep_alive(true), ignored);
  return {};
}

http_error client_socket::tls_handshake(http_target const& t) {
  if (!tls_context_) {
    auto made = make_client_context(tls_);
    if (!made) return {made.error(), http_failure::bad_tls_file};
    tls_context_ = std::move(*made);
  }
  secure_.emplace(tcp_, *tls_context_);
  certificate_check check(secure_->native_handle(), t.host, tls_);
  secure_->set_verify_callback([&check](bool accepted, asio::ssl::verify_context& context) {
    return check.note(accepted, context.native_handle());
  });
  auto const ec = perform([&](auto done) {
    secure_->async_handshake(asio::ssl::stream_base::client, std::move(done));
  });
  if (!ec) {  // `check` is about to be destroyed; a certificate is verified once per connection
    secure_->set_verify_callback(
        [](bool accepted, asio::ssl::verify_context&) { return accepted; });
    return {};
  }
  if (is_timeout(ec)) return cannot_reach(t, ec);
  if (!check.fault().empty())
    return {{muster::code::unauthenticated, t.url() + ": " + check.fault()}, check.failure()};
  if (ec == asio::error::eof || ec == asio::ssl::error::stream_truncated)
    return {
        {muster::code::unavailable, t.url() + ": the connection was lost during the TLS handshake"},
        http_failure::broke};
  return {
      {muster::code::unavailable, t.url() + ": the TLS handshake failed: " + lower(ec.message())},
      http_failure::tls_failed};
}

http_error client_socket::connect(http_target const& t, std::optional<time_point> at) {
  close();
  auto outcome = connect_tcp(t, at);
  if (outcome.ok() && t.tls) outcome = tls_handshake(t);
  if (outcome.ok())
    connected_to_ = t.url();
  else
    close();
  return outcome;
}

bool client_socket::usable_for(http_target const& t) {
  if (connected_to_ != t.url() || !tcp_.socket().is_open() || buffer_.size() > 0) return false;
  error_code ec;
  tcp_.socket().non_blocking(true, ec);
  char byte = 0;
  tcp_.socket().receive(asio::buffer(&byte, 1), asio::socket_base::message_peek, ec);
  return ec == asio::error::would_block;
}

error_code client_socket::write(request_message const& message) {
  return perform_on_stream(
      [&](auto& stream, auto done) { beast::http::async_write(stream, message, std::move(done)); });
}

error_code client_socket::read_header(answer_parser& parser) {
  return perform_on_stream([&](auto& stream, auto done) {
    beast::http::async_read_header(stream, buffer_, parser, std::move(done));
  });
}

error_code client_socket::read_some(answer_parser& parser) {
  return perform_on_stream([&](auto& stream, auto done) {
    beast::http::async_read_some(stream, buffer_, parser, std::move(done));
  });
}

}  // namespace muster
