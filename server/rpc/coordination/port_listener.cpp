// One thread that polls all listening sockets and accepts.
#include "server/rpc/coordination/port_listener.hpp"

#include <fcntl.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <thread>

namespace muster::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto pause_without_files = std::chrono::milliseconds(100);

// Gives every connection a file number that was not used lately. gRPC tells a call's connection by
// that number only: with the lowest free one, as the system gives, a call that is still under way
// from a closed connection would pass for one of the next connection's.
class file_numbers {
 public:
  unique_fd renumber(unique_fd fd) {
    for (int attempt = 0; attempt < 2; ++attempt) {
      int const other = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, next_);
      if (other >= 0) {
        next_ = other + 1;
        return unique_fd(other);
      }
      next_ = first;  // around once
    }
    return fd;
  }

 private:
  static constexpr int first = 512;
  int next_ = first;
};

std::string text_of(tcp::endpoint const& e) {
  auto const address = e.address();
  auto const v4 = address.is_v6() && address.to_v6().is_v4_mapped();
  auto const host = v4 ? asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string()
                       : address.to_string();
  auto const port = ":" + std::to_string(e.port());
  return address.is_v6() && !v4 ? "[" + host + "]" + port : host + port;
}

}  // namespace

struct port_listener::state {
  struct port {
    port(asio::io_context& context, std::uint32_t k) : key(k), acceptor(context), retry(context) {}
    std::uint32_t const key;
    tcp::acceptor acceptor;
    asio::steady_timer retry;
  };

  explicit state(handler a) : accepted(std::move(a)) {}

  void accept(std::shared_ptr<port> p) {
    auto& acceptor = p->acceptor;
    acceptor.async_accept([this, p = std::move(p)](error_code ec, tcp::socket socket) mutable {
      if (!p->acceptor.is_open()) return;
      if (!ec) hand_over(p->key, std::move(socket));
      if (ec && ec != asio::error::connection_aborted) return accept_later(std::move(p));
      accept(std::move(p));
    });
  }

  void accept_later(std::shared_ptr<port> p) {
    auto& retry = p->retry;
    retry.expires_after(pause_without_files);
    retry.async_wait([this, p = std::move(p)](error_code) mutable {
      if (p->acceptor.is_open()) accept(std::move(p));
    });
  }

  void hand_over(std::uint32_t key, tcp::socket socket) {
    error_code ec;
    auto const peer = socket.remote_endpoint(ec);
    if (!ec) socket.set_option(tcp::no_delay(true), ec);
    if (!ec) socket.native_non_blocking(true, ec);
    if (ec) return;  // gone already
    auto fd = unique_fd(socket.release(ec));
    if (ec) return;
    accepted({key, numbers.renumber(std::move(fd)), text_of(peer)});
  }

  // the owner's thread
  handler const accepted;
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::thread thread;

  // the listener's thread
  std::map<std::uint32_t, std::shared_ptr<port>> ports;
  file_numbers numbers;
};

port_listener::port_listener(handler accepted)
    : state_(std::make_unique<state>(std::move(accepted))) {}

port_listener::~port_listener() {
  stop();
}

muster::result<std::uint16_t> port_listener::listen(std::uint32_t key, std::string const& address,
                                                    std::uint16_t port) {
  auto& s = *state_;
  error_code ec;
  auto const ip = asio::ip::make_address(address, ec);
  if (ec)
    return muster::status{muster::code::invalid_argument, "'" + address + "' is no IP address"};
  auto p = std::make_shared<state::port>(s.context, key);
  tcp::endpoint const endpoint(ip, port);
  p->acceptor.open(endpoint.protocol(), ec);
  if (!ec) p->acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) p->acceptor.bind(endpoint, ec);
  if (!ec) p->acceptor.listen(asio::socket_base::max_listen_connections, ec);
  auto const bound = ec ? tcp::endpoint() : p->acceptor.local_endpoint(ec);
  if (ec)
    return muster::status{muster::code::failed_precondition,
                          "cannot listen on " + text_of(endpoint) + ": " + ec.message()};
  if (!s.thread.joinable()) s.thread = std::thread([&s] { s.context.run(); });
  asio::post(s.context, [&s, key, p] {
    s.ports.emplace(key, p);
    s.accept(p);
  });
  return bound.port();
}

void port_listener::close(std::uint32_t key) {
  auto& s = *state_;
  asio::post(s.context, [&s, key] {
    auto const node = s.ports.extract(key);
    if (!node) return;
    error_code ignored;
    node.mapped()->acceptor.close(ignored);
    node.mapped()->retry.cancel();
  });
}

void port_listener::stop() {
  auto& s = *state_;
  s.context.stop();
  if (s.thread.joinable()) s.thread.join();
  s.ports.clear();
}

}  // namespace muster::server
