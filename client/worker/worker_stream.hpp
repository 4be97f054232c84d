// One Attach stream of a worker, from connecting to its final status. Runs quick functions
// directly, passes other functions to the executor, and sends answers. Held closures outlive the
// stream: the hello offers these closures, and the welcome lists the closures that continue.
// States:
//
//     dialling ──welcome──► attached ──leave() or the server's drain──► leaving ──► left
//         └──────────────────────┴── broken, refused, abandoned ──► lost
//
// The worker's reconnect loop owns the stream and uses it only on the engine thread.
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
  bool left = false;        // whether all closures were answered or returned, with status OK
  bool final = false;       // whether reconnecting is forbidden or pointless
  bool no_cluster = false;  // whether the server does not have the cluster
  std::string reason;
  std::chrono::steady_clock::duration attached_for{};  // time since the welcome
  std::chrono::milliseconds hold{};  // how long the server may still need running closures
};

class worker_stream final : stream_side {
 public:
  /// Objects that all streams of a worker share. They must outlive the streams.
  struct resources {
    client_engine& engine;
    executor& threads;
    held_closures& held;
    report_buffer& reports;
    worker_options const& options;
    /// Hello of the next stream. run() counts streams, and the welcome sets the fields that must
    /// not change.
    v1::Hello& hello;
    std::vector<registered_function> const& functions;
    per_worker_store& values;
    std::function<void(std::uint64_t query)> read_stack;
  };

  /// `ranks` is null if the worker runs no programs. `ranks` and `objects` must outlive this
  /// object.
  worker_stream(resources of_worker, std::string server, hosted_objects& objects,
                rank_side* ranks = nullptr);
  worker_stream(worker_stream const&) = delete;

  /// Runs the stream until it ends; running functions continue. The result contains errors.
  /// Terminal cancellation cancels the call.
  [[nodiscard]] coro::task<stream_end> run();

  /// Rejects new closures, answers all held closures, then leaves. Returns unfinished closures
  /// after options.drain_timeout, or later if ranks need time to exit.
  void leave();
  void abandon() { stream_.cancel(); }
  /// Returns the number of received closures and start orders.
  [[nodiscard]] std::uint64_t received() const { return received_; }
  /// @pre The worker holds the job, and an executor thread has finished it.
  void take(job const& finished);
  void take_reports();
  void take(machine const& seen);
  /// The stacks may have been requested on an earlier stream.
  void take(v1::TaskStack stack);
  /// Called when objects, their callers or ranks have something to send.
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
  /// Returns the number of workers to pass to the function at this position.
  std::uint32_t workers_of(v1::ServerMessage const& message, int position) const;
  void take_stops(v1::ServerMessage const& message);
  void take_retractions(v1::ServerMessage const& message);
  void take_acknowledgement(std::uint64_t count);
  /// Starts jobs, unless too many answers are unacknowledged.
  void begin(std::vector<std::shared_ptr<job>>& jobs);
  /// Reports functions that have been running or waiting for a while. Repeats while any function is
  /// running.
  void report_started();
  void report_waits(std::chrono::steady_clock::time_point now);
  void begin_leaving();
  void limit_leaving();
  /// Returns unfinished closures and kills running ranks. If ranks still have time, tries again a
  /// moment later.
  void give_back();
  bool is_drained() const {
    return worker_.held.empty() && (!ranks_ || ranks_->settled()) && !objects_.reports();
  }
  void beat();

  void answer(job const& j);
  /// Returns the message to which the answer was added. `why` is null for a result; `took` is the
  /// execution time.
  v1::WorkerMessage& answer(std::uint64_t closure, std::uint32_t attempt, value_view result,
                            failure const* why, std::chrono::steady_clock::duration took);
  void refuse(std::uint64_t closure, std::uint32_t attempt, failure_kind kind,
              std::string const& why);
  void time_quick(std::chrono::steady_clock::duration all);
  stream_end ending(grpc::Status const& status);

  resources const worker_;
  std::string const server_;
  hosted_objects& objects_;
  rank_side* const ranks_;
  server_stream stream_;
  std::shared_ptr<worker_identity const> identity_;
  std::uint32_t nested_max_ = 0;  // maximum number of waiting closures
  std::uint32_t workers_ = 0;     // number of workers in the job
  std::chrono::steady_clock::time_point welcomed_at_{};

  v1::ServerMessage message_;
  std::vector<std::shared_ptr<job>> batch_;
  std::vector<std::pair<v1::WorkerMessage*, int>> quick_;  // answers of this batch, by position
  value quick_result_;
  failure quick_failure_;
  std::vector<std::shared_ptr<job>> offered_;
  /// Jobs that begin() has not started; limited by the credits.
  std::vector<std::shared_ptr<job>> parked_;
  std::uint64_t received_ = 0;
  bool send_objects_first_ = true;  // whether objects are sent before other reports
  std::uint64_t answered_ = 0;      // number of answers on this stream, including the hello

  /// Limited by the credits, with one answer per closure, and by report_buffer's limits.
  proto::outbox<v1::WorkerMessage> out_;
  std::chrono::steady_clock::time_point written_at_{};
  std::chrono::milliseconds beat_interval_{5'000};
  std::chrono::milliseconds hold_{};

  bool input_ended_ = false;
  bool greeted_ = false;
  bool leave_asked_ = false;  // whether a drain has been or will be sent
  bool leaving_ = false;
  bool awaiting_final_acknowledgement_ = false;  // whether the final answers are unacknowledged
  // When the worker leaves, the time by which all ranks must have exited.
  std::chrono::steady_clock::time_point ranks_until_{};
  coro::timer deadline_;  // deadline for the welcome, then for leaving
  coro::timer beats_;
  coro::timer starts_;
  coro::timer progress_;
};

}  // namespace muster
