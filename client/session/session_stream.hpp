// What a muster::session is made of: closures that wait to be sent, filled by any thread and
// emptied by the stream's writer, and the outcomes that come back.
//
// Shared by the session object and the coroutine on the engine thread; the mutex protects what both
// touch. Handlers are called without it.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/client_engine.hpp"
#include "coro/client_bidi.hpp"
#include "coro/event.hpp"
#include "coro/timer_queue.hpp"
#include "muster/session.hpp"
#include "muster/v1/coordinator.pb.h"
#include "proto/outbox.hpp"

namespace muster {

class session::stream : public std::enable_shared_from_this<session::stream> {
 public:
  using milliseconds = std::chrono::milliseconds;

  stream(client_engine& engine, session_options options, outcome_handler on_outcome);
  ~stream();

  /// Puts the stream to work on the engine; it keeps itself alive until it has ended.
  void start();

  // Any thread; see session.hpp.
  void wait_open();
  std::string id() const;
  function_number function(std::string_view name);
  enum class when_full { wait, refuse };
  bool schedule(function_number f, value_view args, std::uint64_t first, std::size_t count,
                when_full full);
  void schedule(function_number f, value_view args, outcome_handler done);
  bool flush(milliseconds timeout);
  bool wait_all(milliseconds timeout);
  void cancel();
  std::string close(milliseconds timeout);
  /// Ends the call unless it has ended, and waits for that.
  void abandon();
  session_stats stats() const;

 private:
  using lock = std::unique_lock<std::mutex>;

  // Engine thread.
  [[nodiscard]] coro::task<void> run(std::shared_ptr<stream> self);
  [[nodiscard]] coro::task<void> read_all();
  [[nodiscard]] coro::task<void> write_all();
  enum class next { message, nothing, half_close };
  next take_next();  // moves the oldest pending message into written_
  bool take_message();
  void take_outcomes();
  void deliver(outcome const& o);
  void end(grpc::Status const& status);

  // REQUIRE: the mutex is held.
  void admit(lock& held, value_view args, when_full full, bool& refused);
  void append(std::uint32_t f, value_view args, std::uint64_t token);
  bool full() const;
  void signal(lock& held);
  void throw_if_ended() const;

  bool on_stream_thread() const { return engine_.context().running_in_this_thread(); }

  session_options const options_;
  outcome_handler const on_outcome_;
  client_engine& engine_;  // the session object keeps it alive

  // engine thread only
  coro::client_bidi<grpc::ByteBuffer, grpc::ByteBuffer> call_;
  coro::event pending_;
  coro::timer deadline_;  // of opened
  grpc::ByteBuffer read_;
  grpc::ByteBuffer written_;
  v1::SessionResponse message_;
  failure failure_;
  bool input_ended_ = false;
  std::string violation_;  // what the server did wrong

  mutable std::mutex mutex_;         // protects all below
  std::condition_variable changed_;  // room, all finished, opened, flushed, ended
  /// At most options.pending_max entries and pending_bytes_max bytes, and what the stream thread's
  /// handlers add: about one entry an outcome. Full: see schedule.
  proto::outbox<v1::SessionRequest> out_;
  bool signalled_ = false;  // the writer knows that something waits
  bool writing_ = false;
  bool closing_ = false;
  bool ending_ = false;  // nothing is taken any more
  bool ended_ = false;   // and every handler was called
  std::string reason_;   // why it ended; empty: in order
  std::string id_;       // once opened
  std::unordered_map<std::string, std::uint32_t> functions_;
  /// By the low bits of the token; as many as there are closures with handlers in flight.
  std::vector<outcome_handler> handlers_;
  std::vector<std::uint32_t> free_handlers_;
  session_stats stats_;
};

}  // namespace muster
