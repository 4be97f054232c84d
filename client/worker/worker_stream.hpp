// One Attach stream of a worker, from dialling to its status: takes closures, runs quick functions
// on the spot, hands the others to the executor, and answers.
//
// What is held outlives the stream: hello offers it, welcome says what of it goes on.
//
//   dialling ──welcome──► attached ──leave() or the server's drain──► leaving ──► left
//       └──────────────────────┴── broken, refused, abandoned ──► lost
//
// Lives in the frame of the worker's reconnect loop; engine thread only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/machine.hpp"
#include "client/link/server_stream.hpp"
#include "client/worker/executor.hpp"
#include "client/worker/held_closures.hpp"
#include "client/worker/hosted_objects.hpp"
#include "client/worker/rank_side.hpp"
#include "client/worker/report_buffer.hpp"
#include "coro/timer_queue.hpp"
#include "muster/v1/worker.pb.h"
#include "muster/worker_options.hpp"
#include "proto/outbox.hpp"

namespace muster {

struct stream_end {
  bool welcomed = false;
  bool left = false;        // in order: everything answered or given back, status OK
  bool final = false;       // coming back is forbidden or pointless
  bool no_cluster = false;  // the server has none of the name that we say
  std::string reason;
  std::chrono::steady_clock::duration lived{};  // since welcome
  std::chrono::milliseconds hold{};             // how long the server may want what runs
};

class worker_stream final : stream_side {
 public:
  /// What all streams of a worker share; outlives them.
  struct resources {
    client_engine& engine;
    executor& threads;
    held_closures& held;
    report_buffer& reports;
    worker_options const& options;
    /// Of the next stream: it counts them, and a welcome adds what is to be the same there.
    v1::Hello& hello;
    std::vector<registered_function> const& functions;
    per_worker_store& values;
    std::function<void(std::uint64_t query)> read_stack;
  };

  /// `ranks`: null where the worker takes no programs. They and the objects outlive this.
  worker_stream(resources of_worker, std::string server, hosted_objects& objects,
                rank_side* ranks = nullptr);
  worker_stream(worker_stream const&) = delete;

  /// Serves the stream. Completion: it has ended; what runs is held for the next one. Errors: in
  /// the result. Cancellation: `terminal` cancels the call.
  [[nodiscard]] coro::task<stream_end> run();

  /// Takes no more closures, answers what is held, then leaves. Gives back what is not done after
  /// options.drain_timeout, or later while ranks of programs have time to end.
  void leave();
  /// Ends the call at once.
  void abandon() { stream_.cancel(); }
  /// How many closures and orders to start ranks have come so far.
  [[nodiscard]] std::uint64_t received() const { return received_; }
  /// An executor thread is through with a job. REQUIRES: it is held.
  void take(job const& finished);
  /// Functions have something to report.
  void take_reports();
  /// The newest of the machine.
  void take(machine const& seen);
  /// Where this process is, asked for by this stream or one before it.
  void take(v1::TaskStack stack);
  /// Objects have something to report, or who calls others, or ranks of programs.
  void wake() {
    if (identity_ && !input_ended_) stream_.wake();
  }

 private:
  void connected() override;
  next next_message(grpc::ByteBuffer& to) override;
  std::string take(grpc::ByteBuffer& message) override;
  void input_ended() override;

  void take_welcome(v1::Welcome const& welcome);
  std::string take_closures(v1::ServerMessage& message);
  std::shared_ptr<job> make_job(v1::ServerMessage& message, int position,
                                v1::PerWorker const* values);
  void run_quick(registered_function const& f, v1::ServerMessage const& message, int position);
  /// What the function of this position is told as the number of workers.
  std::uint32_t workers_of(v1::ServerMessage const& message, int position) const;
  void take_stops(v1::ServerMessage const& message);
  void take_retractions(v1::ServerMessage const& message);
  void take_acknowledgement(std::uint64_t count);
  /// Runs them, once no more answers wait to be taken than may.
  void begin(std::vector<std::shared_ptr<job>>& jobs);
  /// Tells which functions have been running for a while, or wait, and looks again while there are
  /// any.
  void report_started();
  void tell_waits(std::chrono::steady_clock::time_point now);
  void begin_leaving();
  /// Calls give_back() once the drain timeout is over.
  void limit_leaving();
  /// Gives back closures that are not done and kills ranks that have not ended, unless ranks still
  /// have time: then it looks again a moment later.
  void give_back();
  /// Nothing is held that has to be answered first.
  bool may_leave() const {
    return worker_.held.empty() && (!ranks_ || ranks_->settled()) && !objects_.reports();
  }
  void beat();

  void answer(job const& j);
  /// `why`: null where there is a result; `took`: executing it. Returns the message that it is the
  /// last answer of.
  v1::WorkerMessage& answer(std::uint64_t closure, std::uint32_t attempt, value_view result,
                            failure const* why, std::chrono::steady_clock::duration took);
  /// Answers what was not executed.
  void refuse(std::uint64_t closure, std::uint32_t attempt, failure_kind kind,
              std::string const& why);
  /// To each of the quick functions of a batch its part of the time that all have taken.
  void time_quick(std::chrono::steady_clock::duration all);
  stream_end ending(grpc::Status const& status);

  resources const worker_;
  std::string const server_;
  hosted_objects& objects_;
  rank_side* const ranks_;
  server_stream stream_;
  std::shared_ptr<worker_identity const> identity_;  // set by welcome
  std::uint32_t nested_max_ = 0;                     // closures that may wait for values
  std::uint32_t workers_ = 0;                        // of its job, as the server said last
  std::chrono::steady_clock::time_point welcomed_at_{};

  v1::ServerMessage message_;
  std::vector<std::shared_ptr<job>> batch_;
  std::vector<std::pair<v1::WorkerMessage*, int>> quick_;  // answers of this batch, by position
  value quick_result_;
  failure quick_failure_;
  std::vector<std::shared_ptr<job>> offered_;  // by hello
  std::vector<std::shared_ptr<job>> parked_;   // not begun yet, see `begin`; within the credits
  std::uint64_t received_ = 0;
  bool objects_turn_ = true;    // else what else there is goes first
  std::uint64_t answered_ = 0;  // on this stream, those in hello included

  /// Bounded by the credits, at most one answer for each closure the server sent, and by the limits
  /// of the report_buffer.
  proto::outbox<v1::WorkerMessage> out_;
  std::chrono::steady_clock::time_point written_at_{};
  std::chrono::milliseconds beat_interval_{5'000};
  std::chrono::milliseconds hold_{};

  bool input_ended_ = false;
  bool greeted_ = false;      // hello is on its way: the server may list us
  bool leave_asked_ = false;  // drain was or will be sent
  bool leaving_ = false;      // the server sends no more closures
  bool last_taking_ = false;  // all is answered, and waits to be taken
  std::chrono::steady_clock::time_point ranks_until_{};  // when leaving: all have ended by then
  coro::timer deadline_;                                 // of welcome, then of leaving
  coro::timer beats_;
  coro::timer starts_;    // when functions are looked at that have begun
  coro::timer progress_;  // when the next progress may go out
};

}  // namespace muster
