// A gRPC server whose calls are coroutines, from configuration to the one shutdown order that is
// clean with live streams. Its connections come over ports of the builder, or an heir brings them.
// Owned by the composition root, below the engine_context whose queue its calls use. Engine thread,
// or before run() starts.
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
  // Judges each call that accept.hpp serves by what its method needs; engine thread.
  std::function<admission(grpc::ServerContext const&, int needs, std::string const& method)> admit =
      [](auto const&, int, auto const&) { return admission(); };
  // A waiting call that its client gives up later than this after it came is an everyday thing;
  // those that it gives up sooner are told.
  std::chrono::milliseconds reset_soon{1'000};
  std::function<void()> call_was_reset = [] {};
};

struct start_result {
  std::vector<int> ports;  // as an heir has bound them
  std::string error;       // names what failed; empty: started
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
  virtual ~grpc_server();
  grpc_server(grpc_server const&) = delete;

  // The following two before start().
  void add_service(grpc::Service& service);
  void add_acceptor(std::unique_ptr<acceptor_base> acceptor);

  // Configures gRPC, starts it and fills the request slots. Once.
  [[nodiscard]] virtual start_result start();

  // Refuses new calls, gives live ones `grace` to end, then cancels them, and completes when every
  // call is gone. A handler sees its operations fail and must then return; one that is parked on
  // something else must be woken by its on_cancel hook or by cancelling its task_group. Call
  // engine.close() afterwards. Errors: none. Cancellation: none. Once only; waits need no limit
  // besides `grace` as long as handlers keep to this.
  [[nodiscard]] virtual task<void> stop(std::chrono::milliseconds grace);

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
  // they were when the call came, since gRPC 1.51 does not know it afterwards; not tried with a
  // newer one.
  virtual void call_reset(std::string const& peer);
  [[nodiscard]] bool is_soon(std::chrono::steady_clock::time_point came) const {
    return std::chrono::steady_clock::now() - came < options_.reset_soon;
  }
  // A call of this peer, in gRPC's words, is over: gRPC holds nothing for it any longer.
  virtual void call_ended(std::string const& /*peer*/) {}
  void call_destroyed();

 protected:
  [[nodiscard]] grpc::ServerBuilder& builder() noexcept { return builder_; }
  // REQUIRES: started.
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
  std::unordered_set<server_call_state*> admitted_;  // those with a credential
  bool stopping_ = false;
  bool stopped_ = false;
};

}  // namespace muster::coro
