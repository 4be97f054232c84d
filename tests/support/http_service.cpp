#include "tests/support/http_service.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <mutex>
#include <thread>

namespace muster::test {

namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace ssl = asio::ssl;
using asio::use_awaitable;
using tcp = asio::ip::tcp;

namespace {

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return text;
}

http_seen seen_of(http::request<http::string_body> const& r) {
  http_seen seen{std::string(r.method_string()), std::string(r.target()), r.body(), {}};
  for (auto const& f : r)
    seen.headers[lower(std::string(f.name_string()))] = std::string(f.value());
  return seen;
}

std::string text_of(http_reply const& reply) {
  auto text = "HTTP/1.1 " + std::to_string(reply.status) + " Scripted\r\n";
  for (auto const& [name, value] : reply.headers) text += name + ": " + value + "\r\n";
  auto const size = reply.body.size();
  if (reply.sent != http_reply::way::chunked) {
    text += "Content-Length: " + std::to_string(size) + "\r\n\r\n";
    return text +
           (reply.sent == http_reply::way::cut ? reply.body.substr(0, size / 2) : reply.body);
  }
  text += "Transfer-Encoding: chunked\r\n\r\n";
  char length[20];
  for (std::size_t at = 0; at < size; at += 7) {
    auto const piece = reply.body.substr(at, 7);
    std::snprintf(length, sizeof length, "%zx\r\n", piece.size());
    text += length + piece + "\r\n";
  }
  return text + "0\r\n\r\n";
}

}  // namespace

std::string http_seen::query(std::string const& name) const {
  auto rest = target.substr(std::min(target.find('?'), target.size()));
  while (!rest.empty()) {
    rest.erase(0, 1);
    auto const end = std::min(rest.find('&'), rest.size());
    auto const part = rest.substr(0, end);
    if (part.starts_with(name + "=")) return part.substr(name.size() + 1);
    rest.erase(0, end);
  }
  return {};
}

struct http_service::impl {
  impl(handler h, options const& o)
      : answer(std::move(h)),
        secure(o.tls.has_value()),
        acceptor(context, tcp::endpoint(asio::ip::make_address(o.address), 0)),
        address(o.address) {
    if (!o.tls) return;
    tls.use_certificate_chain(asio::buffer(o.tls->chain_pem));
    tls.use_private_key(asio::buffer(o.tls->key_pem), ssl::context::pem);
  }

  asio::awaitable<void> accept_all() {
    for (;;) {
      auto socket = co_await acceptor.async_accept(use_awaitable);
      socket.set_option(tcp::no_delay(true));
      {
        std::lock_guard const lock(mutex);
        ++connections;
      }
      spawn(secure ? serve_tls(std::move(socket)) : serve_plain(std::move(socket)));
    }
  }

  // Errors only mean that the client disconnected.
  void spawn(asio::awaitable<void> work) {
    asio::co_spawn(context, std::move(work), [](std::exception_ptr) {});
  }

  asio::awaitable<void> serve_plain(tcp::socket socket) { co_await serve(socket); }

  asio::awaitable<void> serve_tls(tcp::socket socket) {
    ssl::stream<tcp::socket> stream(std::move(socket), tls);
    co_await stream.async_handshake(ssl::stream_base::server, use_awaitable);
    co_await serve(stream);
  }

  template <class Stream>
  asio::awaitable<void> serve(Stream& stream) {
    boost::beast::flat_buffer buffer;
    for (;;) {
      http::request<http::string_body> request;
      co_await http::async_read(stream, buffer, request, use_awaitable);
      auto const one = seen_of(request);
      {
        std::lock_guard const lock(mutex);
        all_seen.push_back(one);
      }
      auto const reply = answer(one);
      if (reply.sent == http_reply::way::hang_up) co_return;
      asio::steady_timer timer(context);
      timer.expires_after(reply.sent == http_reply::way::silent ? std::chrono::hours(1)
                                                                : std::chrono::milliseconds(0));
      if (reply.delay.count() > 0) timer.expires_after(reply.delay);
      co_await timer.async_wait(use_awaitable);
      auto const text = text_of(reply);
      co_await asio::async_write(stream, asio::buffer(text), use_awaitable);
      if (reply.sent == http_reply::way::cut) co_return;
    }
  }

  handler answer;
  bool secure;
  asio::io_context context{1};
  ssl::context tls{ssl::context::tls_server};
  tcp::acceptor acceptor;
  std::string address;
  mutable std::mutex mutex;  // protects `all_seen` and `connections`
  std::vector<http_seen> all_seen;
  std::size_t connections = 0;
  std::thread thread;
};

http_service::http_service(handler answer, options o)
    : impl_(std::make_unique<impl>(std::move(answer), o)) {
  impl_->spawn(impl_->accept_all());
  impl_->thread = std::thread([i = impl_.get()] { i->context.run(); });
}

http_service::~http_service() {
  impl_->context.stop();
  impl_->thread.join();
}

std::uint16_t http_service::port() const {
  return impl_->acceptor.local_endpoint().port();
}

std::string http_service::url() const {
  auto const& a = impl_->address;
  auto const host = a.find(':') == std::string::npos ? a : "[" + a + "]";
  return (impl_->secure ? "https://" : "http://") + host + ":" + std::to_string(port());
}

std::vector<http_seen> http_service::seen() const {
  std::lock_guard const lock(impl_->mutex);
  return impl_->all_seen;
}

std::size_t http_service::connections() const {
  std::lock_guard const lock(impl_->mutex);
  return impl_->connections;
}

http_service::handler one_by_one(std::vector<http_reply> replies) {
  auto const left = std::make_shared<std::vector<http_reply>>(std::move(replies));
  auto const next = std::make_shared<std::size_t>(0);
  return [left, next](http_seen const&) {
    auto const& reply = (*left)[*next];
    if (*next + 1 < left->size()) ++*next;
    return reply;
  };
}

}  // namespace muster::test
