// gRPC server whose calls are coroutines, with a clean shutdown while streams are open. Connections
// arrive at ports of the builder, or a derived class supplies them. Owned by the composition root
// and destroyed before the engine_context. Engine thread, or before run() starts.
#pragma once

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

#include "coro/engine_context.hpp"
#include "coro/event.hpp"
#include "coro/task.hpp"

namespace muster::coro {

class server_call_state;

struct admission {
  grpc::Status status;                 // if not OK: the response to the call
  std::string credential;              // credential that admitted the caller; empty: none
  std::chrono::milliseconds delay{0};  // delay of a refusal
  std::shared_ptr<void> place;         // held during the delay
};

struct grpc_server_options {
  int request_bytes_max = 64 << 20;
  int response_bytes_max = 64 << 20;
  // A peer that disappears silently is detected after the sum of these two.
  std::chrono::milliseconds keepalive_time{10'000};
  std::chrono::milliseconds keepalive_timeout{30'000};
  // Minimum interval of client pings without data; more frequent pings end the connection.
  std::chrono::milliseconds client_ping_interval_min{5'000};
  // Decides about each call that accept.hpp serves, given its method's requirement. Engine thread.
  std::function<admission(grpc::ServerContext const&, int needs, std::string const& method)> admit =
      [](auto const&, int, auto const&) { return admission(); };
  // `call_was_reset` is called when a client cancels a waiting call within this time after its
  // start. Later cancellations are normal.
  std::chrono::milliseconds reset_soon{1'000};
  std::function<void()> call_was_reset = [] {};
};

struct start_result {
  std::vector<int> ports;  // as bound by a derived class
  std::string error;       // contains what failed; empty: started
  explicit operator bool() const noexcept { return error.empty(); }
};

// Keeps the request slots of a method filled; see accept.hpp.
class acceptor_base {
 public:
  virtual ~acceptor_base() = default;
  virtual void post_slots() = 0;
};

class grpc_server {
 public:
  // `engine` must poll the only queue of `builder`:
  //   grpc::ServerBuilder builder;
  //   engine_context engine{builder.AddCompletionQueue()};
  //   grpc_server server{engine, builder};
  // @pre `builder` exists until start() has returned.
  grpc_server(engine_context& engine, grpc::ServerBuilder& builder,
              grpc_server_options options = {});
  // Must be destroyed before the engine.
  // @pre Never started, or stop() has completed.
  virtual ~grpc_server();
  grpc_server(grpc_server const&) = delete;

  // Call these two before start().
  void add_service(grpc::Service& service);
  void add_acceptor(std::unique_ptr<acceptor_base> acceptor);

  // Configures and starts gRPC and fills the request slots. Once only.
  [[nodiscard]] virtual start_result start();

  // Refuses new calls, gives running calls `grace` to end, then cancels them. Completes when all
  // have ended; call engine.close() afterwards. Handlers must return when their operations fail. A
  // handler that waits for something else must be woken by its on_cancel hook or by cancelling its
  // task_group. Cannot fail or be cancelled. Once only.
  [[nodiscard]] virtual task<void> stop(std::chrono::milliseconds grace);

  [[nodiscard]] bool stopping() const noexcept { return stopping_; }
  // Returns the number of calls, including request slots that wait for one.
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
  [[nodiscard]] engine_context& engine() noexcept { return engine_; }

  // Cancels all calls that were admitted by this credential.
  void end_calls_of(std::string const& credential);

  // For calls only:
  [[nodiscard]] admission admit(server_call_state& call, int needs, std::string const& method);
  void remove_admitted(server_call_state& call) { admitted_.erase(&call); }
  void call_created() noexcept { ++calls_; }
  // Called when a client has cancelled a call soon after its start and before the response. `peer`:
  // in gRPC's format, stored at the start, because gRPC 1.51 does not provide it later (newer
  // versions not tested).
  virtual void call_reset(std::string const& peer);
  [[nodiscard]] bool is_soon(std::chrono::steady_clock::time_point came) const {
    return std::chrono::steady_clock::now() - came < options_.reset_soon;
  }
  // Called when a call has ended and gRPC holds no memory for it. `peer`: as for call_reset.
  virtual void call_ended(std::string const& /*peer*/) {}
  void call_destroyed();

 protected:
  [[nodiscard]] grpc::ServerBuilder& builder() noexcept { return builder_; }
  // @pre Started.
  [[nodiscard]] grpc::Server& server() noexcept { return *server_; }
  [[nodiscard]] bool started() const noexcept { return server_ != nullptr; }

 private:
  void configure();

  engine_context& engine_;
  grpc::ServerBuilder& builder_;
  grpc_server_options const options_;
  std::vector<std::unique_ptr<acceptor_base>> acceptors_;
  std::unique_ptr<grpc::Server> server_;
  std::thread shutdown_thread_;
  event shutdown_returned_;
  event call_gone_;
  std::size_t calls_ = 0;
  std::unordered_set<server_call_state*> admitted_;  // calls with a credential
  bool stopping_ = false;
  bool stopped_ = false;
};

}  // namespace muster::coro
