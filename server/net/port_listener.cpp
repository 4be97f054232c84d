#include "server/net/port_listener.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <string_view>
#include <thread>

#include "base/check.hpp"
#include "server/net/client_hello.hpp"
#include "server/net/incoming.hpp"
#include "server/net/waiting_connections.hpp"

namespace muster::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// After this many accepts, the listener serves accepted connections first.
constexpr int accepts_a_turn = 16;
constexpr auto pause_without_descriptors = std::chrono::milliseconds(100);

// Accepted sockets inherit these options.
error_code prepare(tcp::acceptor& acceptor, std::chrono::milliseconds user_timeout) {
  error_code ec;
  acceptor.set_option(tcp::no_delay(true), ec);
  if (int const ms = static_cast<int>(user_timeout.count()); !ec && ms > 0)
    ::setsockopt(acceptor.native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
  if (!ec) acceptor.non_blocking(true, ec);
  return ec;
}

error_code open_port(tcp::acceptor& acceptor, tcp::endpoint const& endpoint, bool both,
                     std::chrono::milliseconds user_timeout) {
  error_code ec;
  acceptor.open(endpoint.protocol(), ec);
  if (!ec && both) acceptor.set_option(asio::ip::v6_only(false), ec);
  if (!ec) acceptor.set_option(tcp::acceptor::reuse_address(true), ec);
  if (!ec) ec = prepare(acceptor, user_timeout);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) {
    error_code ignored;
    acceptor.close(ignored);
  }
  return ec;
}

error_code adopt_port(tcp::acceptor& acceptor, int socket, std::chrono::milliseconds user_timeout) {
  error_code ec;
  acceptor.assign(endpoint_of(socket, ::getsockname).protocol(), socket, ec);
  if (!ec) ec = prepare(acceptor, user_timeout);
  return ec;
}

// Start of a connection (RFC 9113, section 3.4): the fixed part, then the header of the SETTINGS
// frame. Other connections are passed to gRPC.
constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t preface_bytes = preface.size() + 9;

std::size_t preface_bytes_needed(std::string_view said) {
  auto const compared = std::min(said.size(), preface.size());
  bool const whole = said.size() >= preface_bytes;
  return whole || said.substr(0, compared) != preface.substr(0, compared) ? 0 : preface_bytes;
}

waiting_connections::judge judge_of(wire spoken) {
  if (spoken == wire::tls) return {hello_bytes_needed, hello_bytes_max};
  return {preface_bytes_needed, preface_bytes};
}

// Returns whether the machine lacks IPv6 sockets or an IPv6 address.
bool no_ipv6(error_code ec) {
  return ec == asio::error::address_family_not_supported ||
         ec == boost::system::errc::address_not_available;
}

}  // namespace

struct port_listener::state {
  struct port {
    port(asio::io_context& context, handler h, wire speaks) : acceptor(context), retry(context) {
      auto hand_on = [accepted = std::move(h)](tcp::socket socket, tcp::endpoint const& peer,
                                               tcp::endpoint const& client) {
        error_code ec;
        socket.native_non_blocking(true, ec);
        file_descriptor fd(socket.release(ec));
        if (ec || fd.get() < 0) return;
        // Asio in Boost 1.81 does not set close-on-exec.
        ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
        accepted({std::move(fd), text_of(peer), text_of(client)});
      };
      waiting_connections::port_rules d{judge_of(speaks), std::move(hand_on)};
      through = std::make_shared<waiting_connections::port_rules const>(std::move(d));
    }
    std::shared_ptr<waiting_connections::port_rules const> through;
    tcp::acceptor acceptor;
    asio::steady_timer retry;
  };

  explicit state(port_listener_options o)
      : options(std::move(o)), waiting(context, options.waiting, options.proxies) {}

  // Opens a port with the socket that the manager has kept, or creates a socket and passes it to
  // the manager.
  error_code open(tcp::acceptor& acceptor, std::string const& name, tcp::endpoint const& at) {
    auto const ip = at.address();
    auto* const manager = options.manager;
    int const kept = manager ? manager->take(name, ip.to_string(), at.port()) : -1;
    if (kept >= 0) return adopt_port(acceptor, kept, options.user_timeout);
    bool const everywhere = ip.is_unspecified();
    auto ec = open_port(acceptor, everywhere ? tcp::endpoint(tcp::v6(), at.port()) : at, everywhere,
                        options.user_timeout);
    if (everywhere && no_ipv6(ec))
      ec = open_port(acceptor, tcp::endpoint(tcp::v4(), at.port()), false, options.user_timeout);
    if (!ec && manager) manager->keep(name, acceptor.native_handle());
    return ec;
  }

  // Waits for a client before accept. If no descriptor is free, accept would otherwise fail even
  // without a waiting client, and a connection would be closed needlessly.
  void accept(std::shared_ptr<port> p) {
    auto& acceptor = p->acceptor;
    auto somebody = [this, p = std::move(p)](error_code) mutable {
      if (!p->acceptor.is_open()) return;
      auto const ec = accept_some(*p);
      if (!ec || client_disconnected(ec) || make_room(ec)) return accept(std::move(p));
      accept_later(std::move(p));
    };
    acceptor.async_wait(tcp::acceptor::wait_read, std::move(somebody));
  }

  // Returns only the error of the first accept. A later error means that no client is left, or the
  // error recurs in the next turn.
  error_code accept_some(port& p) {
    for (int i = 0; i < accepts_a_turn; ++i) {
      tcp::endpoint peer;
      error_code ec;
      auto socket = p.acceptor.accept(peer, ec);
      if (ec) return i == 0 ? ec : error_code();
      waiting.add(std::move(socket), peer, p.through);
    }
    return {};
  }

  bool make_room(error_code ec) {
    if (!out_of_descriptors(ec)) return false;
    ++no_descriptor;
    options.out_of_descriptors();
    return waiting.make_room();
  }

  void accept_later(std::shared_ptr<port> p) {
    auto& retry = p->retry;
    retry.expires_after(pause_without_descriptors);
    retry.async_wait([this, p = std::move(p)](error_code) mutable {
      if (p->acceptor.is_open()) accept(std::move(p));
    });
  }

  port_listener_options const options;

  // Members that only the owner's thread uses.
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  std::thread thread;
  std::uint32_t last_id = 0;
  std::map<std::uint32_t, std::string> names;

  // Members that only the listener's thread uses.
  std::map<std::uint32_t, std::shared_ptr<port>> ports;
  waiting_connections waiting;

  // Members that any thread can use.
  std::atomic<std::uint64_t> no_descriptor = 0;
};

port_listener::port_listener(port_listener_options options)
    : state_(std::make_unique<state>(std::move(options))) {}

port_listener::~port_listener() {
  stop();
}

muster::result<port_listener::listening> port_listener::listen(std::string const& name,
                                                               std::string const& address,
                                                               std::uint16_t port, handler accepted,
                                                               wire spoken) {
  auto& s = *state_;
  error_code ec;
  auto const ip = asio::ip::make_address(address, ec);
  if (ec)
    return muster::status{muster::code::invalid_argument, "'" + address + "' is not an IP address"};
  auto p = std::make_shared<state::port>(s.context, std::move(accepted), spoken);
  tcp::endpoint const endpoint(ip, port);
  ec = s.open(p->acceptor, name, endpoint);
  auto const bound = ec ? tcp::endpoint() : p->acceptor.local_endpoint(ec);
  if (ec)
    return muster::status{muster::code::failed_precondition, listen_failure(text_of(endpoint), ec)};
  auto const id = ++s.last_id;
  s.names[id] = name;
  asio::post(s.context, [&s, id, p] {
    s.ports.emplace(id, p);
    s.accept(p);
  });
  return listening{id, bound.port()};
}

void port_listener::start() {
  auto& s = *state_;
  check(!s.thread.joinable(), "a listener must not be started twice");
  s.thread = std::thread([&s] { s.context.run(); });
}

void port_listener::close(std::uint32_t id) {
  auto& s = *state_;
  // The name is dropped immediately, because the next port can have the same name.
  auto const name = s.names.extract(id);
  if (name && s.options.manager) s.options.manager->drop(name.mapped());
  asio::post(s.context, [&s, id] {
    auto const node = s.ports.extract(id);
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
  // Pending waits keep the ports alive until the context is destroyed.
  error_code ignored;
  for (auto const& [id, p] : s.ports) p->acceptor.close(ignored);
  s.ports.clear();
  s.waiting.clear();
}

connection_counts port_listener::counts() const {
  auto const& s = *state_;
  auto c = s.waiting.counts();
  c.out_of_descriptors = s.no_descriptor;
  return c;
}

}  // namespace muster::net
