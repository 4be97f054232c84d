// The gRPC server of the process with its perimeter: its connections are accepted by a
// port_listener, reach gRPC once they speak, and are cut when their calls are reset too often. gRPC
// 1.51 does none of that, and cannot add ports while it runs; not tried with a newer one.
// Owned by the composition root, as grpc_server is. Engine thread, or before run() starts.
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
  // Half-open connections. A user_timeout of 0 stands for keepalive_timeout.
  port_listener_options listener;
  // A connection of the ports of add_port is about to be served; on the listener's thread. See
  // accepted_socket.
  std::function<void(int socket, std::string const& peer, std::string const& client)> accepted =
      [](int, auto const&, auto const&) {};
  // A connection whose calls are reset faster than this, each within `reset_soon`, is closed
  // (HTTP/2 rapid reset, CVE-2023-44487).
  leaky_limits resets;
  // It was; "10.0.0.3:4711". Engine thread.
  std::function<void(std::string const& peer)> cut = [](auto const&) {};
  // Bounds the memory of connections. Its functions are called on any thread.
  guard_options guard;
};

class accepting_server final : public coro::grpc_server {
 public:
  // REQUIRES: as grpc_server's.
  accepting_server(coro::engine_context& engine, grpc::ServerBuilder& builder,
                   accepting_server_options options = {});

  // The following three before start().
  void add_port(std::string address);
  // One whose clients speak TLS. REQUIRES: `credentials` are of TLS.
  void add_tls_port(std::string address, std::shared_ptr<grpc::ServerCredentials> credentials);
  // Answers UNIMPLEMENTED to methods that no service has, and counts their resets; without it gRPC
  // answers, and counts nothing.
  void refuse_unknown_methods();

  // Binds, too, and gives the ports in the order of add_port. They are not shared with other
  // processes: one in use is an error, which names the address.
  [[nodiscard]] coro::start_result start() override;

  // For ports that come and go, whose connections their handlers give to adopt(). They are accepted
  // from start() on.
  [[nodiscard]] port_listener& listener() noexcept { return listener_; }

  // Serves a connected plaintext socket that someone else accepted; takes ownership of `fd`.
  // `client`: "10.0.0.3:4711"; empty if the client was let in already.
  // REQUIRES: started; `fd` is non-blocking.
  void adopt(int fd, std::string const& client = {});
  // The same for a client that speaks TLS, with the credentials of the TLS port.
  // REQUIRES: also that there is one.
  void adopt_tls(int fd, std::string const& client);

  // Memory of connections. Any thread.
  [[nodiscard]] guard_counts guarded() const { return guard_.counts(); }

  // Accepts nobody any more, first of all.
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

  // Returns the bound port, or why it cannot be listened on.
  [[nodiscard]] muster::result<int> listen(listening_port const& port);
  void give_guarded(gate& to, accepted_socket accepted, wire spoken);

  accepting_server_options const options_;
  std::vector<listening_port> ports_;
  connection_guard guard_;
  port_listener listener_;  // its thread uses the server
  leaky_counts resets_;
  std::shared_ptr<gate> tls_gate_;
  std::shared_ptr<accepting_server*> serving_;  // for what the watch posts
  std::unique_ptr<reset_watch> watch_;          // while it serves
};

}  // namespace muster::net
