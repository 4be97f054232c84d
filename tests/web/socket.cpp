#include "tests/web/socket.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <boost/json.hpp>
#include <chrono>

namespace muster::web::test {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using boost::system::error_code;

struct socket::impl {
  template <class Start>
  error_code perform(Start const& start) {
    error_code result = asio::error::timed_out;
    start([&result](error_code ec, auto const&...) { result = ec; });
    context.restart();
    context.run_for(std::chrono::seconds(10));
    if (!context.stopped()) {
      error_code ignored;
      ws.next_layer().close(ignored);
      context.run();
    }
    return result;
  }

  asio::io_context context{1};
  websocket::stream<asio::ip::tcp::socket> ws{context};
  beast::flat_buffer buffer;
  unsigned status = 0;
};

socket::socket(unsigned short port, options const& o) : impl_(std::make_unique<impl>()) {
  auto& tcp = impl_->ws.next_layer();
  tcp.open(asio::ip::tcp::v4());
  if (o.receive_buffer > 0)
    tcp.set_option(asio::socket_base::receive_buffer_size(o.receive_buffer));
  tcp.connect({asio::ip::address_v4::loopback(), port});
  auto decorate = [o](websocket::request_type& r) {
    if (!o.protocol.empty()) r.set(beast::http::field::sec_websocket_protocol, o.protocol);
    if (!o.origin.empty()) r.set(beast::http::field::origin, o.origin);
    if (!o.cookie.empty()) r.set(beast::http::field::cookie, o.cookie);
    if (!o.token.empty()) r.set(beast::http::field::authorization, "Bearer " + o.token);
  };
  impl_->ws.set_option(websocket::stream_base::decorator(decorate));
  impl_->ws.read_message_max(64 << 20);
  websocket::response_type answer;
  auto const host = "127.0.0.1:" + std::to_string(port);
  impl_->perform(
      [&](auto done) { impl_->ws.async_handshake(answer, host, "/api/v1/ws", std::move(done)); });
  impl_->status = answer.result_int();
}

socket::~socket() = default;

unsigned socket::status() const {
  return impl_->status;
}

bool socket::send(std::string const& text) {
  impl_->ws.text(true);
  return !impl_->perform(
      [&](auto done) { impl_->ws.async_write(asio::buffer(text), std::move(done)); });
}

bool socket::send_binary(std::string const& bytes) {
  impl_->ws.binary(true);
  return !impl_->perform(
      [&](auto done) { impl_->ws.async_write(asio::buffer(bytes), std::move(done)); });
}

boost::json::value socket::receive() {
  impl_->buffer.clear();
  if (impl_->perform([&](auto done) { impl_->ws.async_read(impl_->buffer, std::move(done)); }))
    return {};
  return boost::json::parse(beast::buffers_to_string(impl_->buffer.data()));
}

boost::json::value socket::receive(std::string const& type, std::string const& topic) {
  for (;;) {
    auto v = receive();
    if (v.is_null()) return v;
    auto const is = [&](char const* key, std::string const& wanted) {
      return std::string_view(v.at(key).as_string()) == wanted;
    };
    if (is("t", type) && (topic.empty() || is("topic", topic))) return v;
  }
}

unsigned socket::close_code() const {
  return impl_->ws.reason().code;
}

void socket::drop() {
  error_code ignored;
  impl_->ws.next_layer().close(ignored);
}

}  // namespace muster::web::test
