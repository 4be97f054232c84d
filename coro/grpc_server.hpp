// The gRPC server of the process, from configuration to the one shutdown order that is clean with
// live streams. Connections are accepted by its port_listener and reach gRPC once they speak. Owned
// by the composition root, below the engine_context whose queue its calls use. Engine thread, or
// before run() starts.
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "coro/abuse/leaky_counts.hpp"
#include "coro/abuse/reset_watch.hpp"
#include "coro/engine_context.hpp"
#include "coro/event.hpp"
#include "coro/port_listener.hpp"
#include "coro/task.hpp"

namespace muster::coro {

class server_call_state;

// What is decided about a call before its handler hears of it.
struct admission {
  grpc::Status status;     // not OK: the answer
  std::string credential;  // by which its caller was admitted; empty: nothing in particular
  std::chrono::milliseconds delay{0};  // a refusal is told so much later…
  std::shared_ptr<void> place;         // …and this is held meanwhile
};

struct grpc_server_options {
  int request_bytes_max = 64 << 20;
  int response_bytes_max = 64 << 20;
  // A dead peer without a FIN is noticed after the sum of these two.
  std::chrono::milliseconds keepalive_time{10'000};
  std::chrono::milliseconds keepalive_timeout{30'000};
  // Clients may ping this often without data before they are told off.
  std::chrono::milliseconds client_ping_interval_min{5'000};
  // Half-open connections. A user_timeout of 0 stands for keepalive_timeout.
  port_listener_options listener;
  // Judges each call that accept.hpp serves by what its method needs; engine thread.
  std::function<admission(grpc::ServerContext const&, int needs, std::string const& method)> admit =
      [](auto const&, int, auto const&) { return admission(); };
  // A connection of the ports of add_port is about to be served; on the listener's thread. See
  // accepted_socket.
  std::function<void(int socket, std::string const& peer, std::string const& client)> accepted =
      [](int, auto const&, auto const&) {};
  // A connection whose calls are reset faster than this is closed (HTTP/2 rapid reset,
  // CVE-2023-44487). A waiting call that its client gives up later than `reset_soon` after it came
  // is an everyday thing and counts for nothing.
  leaky_limits resets;
  std::chrono::milliseconds reset_soon{1'000};
  std::function<void()> call_was_reset = [] {};
  // It was; "10.0.0.3:4711". Engine thread.
  std::function<void(std::string const& peer)> cut = [](auto const&) {};
};

struct start_result {
  std::vector<int> ports;  // as bound, in the order of add_port
  std::string error;       // names the address that failed; empty: started
  explicit operator bool() const noexcept { return error.empty(); }
};

// Keeps the request slots of one method filled; see accept.hpp.
class acceptor_base {
 public:
  virtual ~acceptor_base() = default;
  virtual void post_slots() = 0;
};

class grpc_server {
 public:
  // REQUIRES: `engine` polls the one queue added to `builder`:
  //   grpc::ServerBuilder builder;
  //   engine_context engine{builder.AddCompletionQueue()};
  //   grpc_server server{engine, builder};
  // `builder` lives until start() has returned.
  grpc_server(engine_context& engine, grpc::ServerBuilder& builder,
              grpc_server_options options = {});
  // REQUIRES: never started, or stop() has completed. Destroy before the engine.
  ~grpc_server();
  grpc_server(grpc_server const&) = delete;

  // The following five before start().
  void add_service(grpc::Service& service);
  void add_port(std::string address);
  // One whose clients speak TLS. REQUIRES: `credentials` are of TLS.
  void add_tls_port(std::string address, std::shared_ptr<grpc::ServerCredentials> credentials);
  void add_acceptor(std::unique_ptr<acceptor_base> acceptor);
  // Answers UNIMPLEMENTED to methods that no service has, and counts their resets; without it gRPC
  // answers, and counts nothing.
  void refuse_unknown_methods();

  // Binds, starts and fills the request slots. Ports are not shared with other processes: one in
  // use is an error.
  [[nodiscard]] start_result start();

  // For ports that come and go, whose connections their handlers give to adopt(). They are accepted
  // from start() on.
  [[nodiscard]] port_listener& listener() noexcept { return listener_; }

  // Serves a connected plaintext socket that someone else accepted; takes ownership of `fd`.
  // REQUIRES: started; `fd` is non-blocking.
  void adopt(int fd);
  // The same for one whose client speaks TLS, with the credentials of the TLS port.
  // REQUIRES: also that there is one.
  void adopt_tls(int fd);

  // Refuses new calls, gives live ones `grace` to end, then cancels them, and completes when every
  // call is gone. A handler sees its operations fail and must then return; one that is parked on
  // something else must be woken by its on_cancel hook or by cancelling its task_group. Call
  // engine.close() afterwards. Errors: none. Cancellation: none. Once only; waits need no limit
  // besides `grace` as long as handlers keep to this.
  [[nodiscard]] task<void> stop(std::chrono::milliseconds grace);

  [[nodiscard]] bool stopping() const noexcept { return stopping_; }
  // Calls alive, and request slots that wait for one.
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
  [[nodiscard]] engine_context& engine() noexcept { return engine_; }

  // Cancels every call whose caller was admitted by this.
  void end_calls_of(std::string const& credential);

  // For calls only.
  [[nodiscard]] admission admit(server_call_state& call, int needs, std::string const& method);
  void forget_admitted(server_call_state& call) { admitted_.erase(&call); }
  void call_created() noexcept { ++calls_; }
  // Its client ended it before it was answered, and soon after it came. `peer`: in gRPC's words, as
  // they were when the call came, since gRPC 1.51 does not know it afterwards.
  void call_reset(std::string const& peer);
  [[nodiscard]] bool is_soon(std::chrono::steady_clock::time_point came) const {
    return std::chrono::steady_clock::now() - came < options_.reset_soon;
  }
  void call_destroyed();

 private:
  struct listening_port {
    std::string address;
    std::shared_ptr<grpc::ServerCredentials> credentials;
    wire spoken = wire::plaintext;
  };
  using gate = grpc::experimental::ExternalConnectionAcceptor;

  void configure();
  [[nodiscard]] int listen(listening_port const& port);

  engine_context& engine_;
  grpc::ServerBuilder& builder_;
  grpc_server_options const options_;
  std::vector<listening_port> ports_;
  std::vector<std::unique_ptr<acceptor_base>> acceptors_;
  std::unique_ptr<grpc::Server> server_;
  port_listener listener_;  // its thread uses the server
  std::thread shutdown_thread_;
  event shutdown_returned_;
  event call_gone_;
  std::size_t calls_ = 0;
  std::unordered_set<server_call_state*> admitted_;  // those with a credential
  leaky_counts resets_;
  bool stopping_ = false;
  bool stopped_ = false;
  std::shared_ptr<gate> tls_gate_;
  std::shared_ptr<grpc_server*> serving_;  // for what the watch posts
  std::unique_ptr<reset_watch> watch_;     // while it serves
};

}  // namespace muster::coro
