#include "server/net/accepting_server.hpp"

#include <grpcpp/server_posix.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.hpp"
#include "server/net/abuse/reset_connection.hpp"
#include "server/net/incoming.hpp"
#include "server/net/inspect/intercepted_reads.hpp"

namespace muster::net {

namespace {

port_listener_options listener_options(accepting_server_options const& o) {
  auto options = o.listener;
  if (options.user_timeout.count() == 0) options.user_timeout = o.keepalive_timeout;
  return options;
}

void give(grpc::experimental::ExternalConnectionAcceptor& gate, int fd) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.fd = fd;
  gate.HandleNewConnection(&connection);
}

// Limits how long an unauthenticated client can use CPU time and memory for a handshake.
constexpr std::chrono::milliseconds handshake_timeout_max{5'000};

}  // namespace

accepting_server::accepting_server(coro::engine_context& engine, grpc::ServerBuilder& builder,
                                   accepting_server_options options)
    : coro::grpc_server(engine, builder, options),
      options_(std::move(options)),
      guard_(options_.guard),
      listener_(listener_options(options_)),
      resets_(options_.resets) {
  intercept_reads();
}

void accepting_server::add_port(std::string address) {
  ports_.push_back({std::move(address), grpc::InsecureServerCredentials(), wire::plaintext});
}

void accepting_server::add_tls_port(std::string address,
                                    std::shared_ptr<grpc::ServerCredentials> credentials) {
  ports_.push_back({std::move(address), std::move(credentials), wire::tls});
}

coro::start_result accepting_server::start() {
  auto const handshake =
      std::min(options_.listener.waiting.first_data_timeout, handshake_timeout_max).count();
  builder().AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, static_cast<int>(handshake));
  coro::start_result result;
  for (auto const& port : ports_) {
    auto const bound = listen(port);
    if (!bound) {
      result.error = bound.error().message;
      return result;
    }
    result.ports.push_back(*bound);
  }
  result.error = coro::grpc_server::start().error;
  if (!result) return result;
  listener_.start();
  // A posted function that runs after the server was destroyed does nothing.
  auto const serving = std::make_shared<accepting_server*>(this);
  watch_ = std::make_unique<reset_watch>(
      engine(),
      [this, held = std::weak_ptr(serving)](std::string const& peer) {
        engine().post([held, peer] {
          if (auto const server = held.lock()) (*server)->options_.cut(peer);
        });
      },
      [this] { guard_.return_memory(); });
  serving_ = serving;
  return result;
}

muster::result<int> accepting_server::listen(listening_port const& port) {
  auto const colon = std::min(port.address.rfind(':'), port.address.size());
  auto host = port.address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::uint16_t number = 0;
  auto const* const end = port.address.data() + port.address.size();
  if (colon == port.address.size() ||
      std::from_chars(port.address.data() + colon + 1, end, number).ptr != end)
    return muster::status{code::invalid_argument,
                          "cannot listen on " + port.address + ": must be HOST:PORT"};
  using connection_type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  std::shared_ptr<gate> const into = builder().experimental().AddExternalConnectionAcceptor(
      connection_type::FROM_FD, port.credentials);
  if (port.spoken == wire::tls) tls_gate_ = into;
  auto const hand_on = [into, this, spoken = port.spoken](accepted_socket accepted) {
    options_.accepted(accepted.socket.get(), accepted.peer, accepted.client);
    give_guarded(*into, std::move(accepted), spoken);
  };
  auto const bound = listener_.listen("grpc", host, number, hand_on, port.spoken);
  if (bound) return static_cast<int>(bound->port);
  if (bound.error().code != code::invalid_argument) return bound.error();
  return muster::status{code::invalid_argument,
                        "cannot listen on " + port.address + ": " + bound.error().message};
}

void accepting_server::give_guarded(gate& to, accepted_socket accepted, wire spoken) {
  bool const tls = spoken == wire::tls;
  if (!guard_.add(accepted.socket.get(), accepted.peer, accepted.client, tls)) return;
  connection_guard::tls_scope const scope(accepted.socket.get());
  give(to, accepted.socket.release());
}

void accepting_server::adopt(int fd, std::string const& client) {
  check(started(), "the server must be started before it adopts a connection");
  file_descriptor socket(fd);
  resets_.forget("fd:" + std::to_string(fd));
  auto const end = endpoint_of(fd);
  auto const peer = end.port() == 0 ? std::string() : text_of(end);
  if (!guard_.add(fd, peer, client, false, client.empty())) return;
  grpc::AddInsecureChannelFromFd(&server(), socket.release());
}

void accepting_server::adopt_tls(int fd, std::string const& client) {
  check(started() && tls_gate_ != nullptr,
        "the server must be started with TLS before it adopts a TLS connection");
  auto const peer = text_of(endpoint_of(fd));
  give_guarded(*tls_gate_, {file_descriptor(fd), peer, client}, wire::tls);
}

coro::task<void> accepting_server::stop(std::chrono::milliseconds grace) {
  serving_.reset();
  watch_.reset();
  listener_.stop();
  co_await coro::grpc_server::stop(grace);
}

// Resets caused by the server's own shutdown are not abuse.
void accepting_server::call_reset(std::string const& peer) {
  coro::grpc_server::call_reset(peer);
  if (stopping() || !resets_.note(peer, leaky_counts::clock::now())) return;
  auto const who = reset_connection(peer);
  if (who.empty()) return;
  options_.cut(who);
}

}  // namespace muster::net
