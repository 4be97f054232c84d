// gRPC server whose calls are coroutines. Connections arrive at the builder's ports or from a
// derived class. The composition root owns it and destroys it before the engine_context. Used on
// the engine thread, or on any thread before run() starts.
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
  grpc::Status status;
  std::string credential;
  std::chrono::milliseconds delay{0};  // delay before a refusal is sent
  std::shared_ptr<void> place;         // released after the delay
};

struct grpc_server_options {
  int request_bytes_max = 64 << 20;
  int response_bytes_max = 64 << 20;
  // A peer that disappears silently is detected after keepalive_time plus keepalive_timeout.
  std::chrono::milliseconds keepalive_time{10'000};
  std::chrono::milliseconds keepalive_timeout{30'000};
  // A client that pings more frequently without sending data is disconnected.
  std::chrono::milliseconds client_ping_interval_min{5'000};
  // Decides whether to admit a call. `needs` is the method's requirement; see accept_options.
  // Called on the engine thread.
  std::function<admission(grpc::ServerContext const&, int needs, std::string const& method)> admit =
      [](auto const&, int, auto const&) { return admission(); };
  // `call_was_reset` is called when a client cancels a waiting call within `reset_soon` of its
  // start.
  std::chrono::milliseconds reset_soon{1'000};
  std::function<void()> call_was_reset = [] {};
};

struct start_result {
  std::vector<int> ports;  // ports that a derived class has bound
  std::string error;
  explicit operator bool() const noexcept { return error.empty(); }
};

class acceptor_base {
 public:
  virtual ~acceptor_base() = default;
  virtual void post_slots() = 0;
};

class grpc_server {
 public:
  // `engine` must poll the only queue of `builder`, for example:
  //   grpc::ServerBuilder builder;
  //   engine_context engine{builder.AddCompletionQueue()};
  //   grpc_server server{engine, builder};
  // @pre `builder` outlives the constructor and exists until start() has returned.
  grpc_server(engine_context& engine, grpc::ServerBuilder& builder,
              grpc_server_options options = {});
  // @pre The engine still exists. The server was never started, or stop() has completed.
  virtual ~grpc_server();
  grpc_server(grpc_server const&) = delete;

  // Must be called before start(), as must add_acceptor().
  void add_service(grpc::Service& service);
  void add_acceptor(std::unique_ptr<acceptor_base> acceptor);

  // Configures and starts gRPC, then posts the request slots. Must be called once.
  [[nodiscard]] virtual start_result start();

  // Refuses new calls, waits up to `grace` for running calls, then cancels them. Completes when all
  // calls have ended; call engine.close() afterwards. Handlers must return when their operations
  // fail. A handler that is waiting for other events must be woken by its on_cancel hook or by
  // cancelling its task_group. Cannot fail or be cancelled. Must be called once.
  [[nodiscard]] virtual task<void> stop(std::chrono::milliseconds grace);

  [[nodiscard]] bool stopping() const noexcept { return stopping_; }
  [[nodiscard]] std::size_t calls() const noexcept { return calls_; }
  [[nodiscard]] engine_context& engine() noexcept { return engine_; }

  // Cancels all calls that this credential admitted. The calls end in later turns, when gRPC has
  // returned their tags.
  void end_calls_of(std::string const& credential);

  [[nodiscard]] admission admit(server_call_state& call, int needs, std::string const& method);
  void remove_admitted(server_call_state& call) { admitted_.erase(&call); }
  void call_created() noexcept { ++calls_; }
  // Called when a client cancels a call soon after its start and before the response. `peer` is
  // stored at the start, because gRPC 1.51 does not provide it later.
  virtual void call_reset(std::string const& peer);
  [[nodiscard]] bool is_soon(std::chrono::steady_clock::time_point came) const {
    return std::chrono::steady_clock::now() - came < options_.reset_soon;
  }
  // Called when a call has ended and gRPC has freed its memory. `peer` has gRPC's format.
  virtual void call_ended(std::string const& /*peer*/) {}
  void call_destroyed();

 protected:
  [[nodiscard]] grpc::ServerBuilder& builder() noexcept { return builder_; }
  // @pre The server was started.
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
  std::unordered_set<server_call_state*> admitted_;
  bool stopping_ = false;
  bool stopped_ = false;
};

}  // namespace muster::coro
