// The gRPC server of the process, protected against abusive clients. A port_listener accepts
// connections and passes them to gRPC once the client has sent data. gRPC 1.51 can neither wait for
// data nor add ports at run time. Owned by the composition root. Used on the engine thread, or on
// any thread before run() starts.
#pragma once

#include <grpcpp/security/server_credentials.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coro/grpc_server.hpp"
#include "server/net/abuse/leaky_counts.hpp"
#include "server/net/abuse/reset_watch.hpp"
#include "server/net/inspect/connection_guard.hpp"
#include "server/net/port_listener.hpp"

namespace muster::net {

struct accepting_server_options : coro::grpc_server_options {
  // Limits for half-open connections. If user_timeout is 0, keepalive_timeout applies.
  port_listener_options listener;
  // Called on the listener's thread before a connection of add_port() or add_tls_port() is passed
  // to gRPC; see accepted_socket.
  std::function<void(int socket, std::string const& peer, std::string const& client)> accepted =
      [](int, auto const&, auto const&) {};
  // Limit for resets, each within `reset_soon` of the call's start. A connection that exceeds the
  // limit is closed (HTTP/2 rapid reset, CVE-2023-44487).
  leaky_limits resets;
  // Called on the engine thread when a connection was closed because of resets. `peer` is, for
  // example, "10.0.0.3:4711".
  std::function<void(std::string const& peer)> cut = [](auto const&) {};
  guard_options guard;
};

class accepting_server final : public coro::grpc_server {
 public:
  accepting_server(coro::engine_context& engine, grpc::ServerBuilder& builder,
                   accepting_server_options options = {});

  // add_port, add_tls_port and refuse_unknown_methods must be called before start().
  void add_port(std::string address);
  // REQUIRES: `credentials` are TLS credentials.
  void add_tls_port(std::string address, std::shared_ptr<grpc::ServerCredentials> credentials);
  // Rejects calls of unknown methods with UNIMPLEMENTED, like gRPC, but also counts them as resets.
  void refuse_unknown_methods();

  // Binds the ports, starts the server and returns the ports in the order of add_port(). If a port
  // is in use, the error contains its address.
  [[nodiscard]] coro::start_result start() override;

  // Returns the listener, which can open and close ports at run time. Handlers of these ports pass
  // connections to adopt().
  [[nodiscard]] port_listener& listener() noexcept { return listener_; }

  // Serves a connected plaintext socket and takes ownership of `fd`. `client` is, for example,
  // "10.0.0.3:4711"; it is empty if the client was already admitted. REQUIRES: the server is
  // started; `fd` is non-blocking.
  void adopt(int fd, std::string const& client = {});
  // Serves a TLS client's connected socket with the credentials of the TLS port and takes ownership
  // of `fd`. REQUIRES: the server is started with a TLS port; `fd` is non-blocking.
  void adopt_tls(int fd, std::string const& client);

  // Thread-safe.
  [[nodiscard]] guard_counts guarded() const { return guard_.counts(); }

  // Stops accepting connections, then calls grpc_server::stop.
  [[nodiscard]] coro::task<void> stop(std::chrono::milliseconds grace) override;

  void call_reset(std::string const& peer) override;
  void call_ended(std::string const& peer) override { guard_.call_ended(peer); }

 private:
  struct listening_port {
    std::string address;
    std::shared_ptr<grpc::ServerCredentials> credentials;
    wire spoken = wire::plaintext;
  };
  using gate = grpc::experimental::ExternalConnectionAcceptor;

  [[nodiscard]] muster::result<int> listen(listening_port const& port);
  void give_guarded(gate& to, accepted_socket accepted, wire spoken);

  accepting_server_options const options_;
  std::vector<listening_port> ports_;
  connection_guard guard_;
  port_listener listener_;
  leaky_counts resets_;
  std::shared_ptr<gate> tls_gate_;
  std::shared_ptr<accepting_server*> serving_;
  std::unique_ptr<reset_watch> watch_;
};

}  // namespace muster::net
