// One worker's stream: hello, then answers in and assignments out, until either side ends it.
//
//   hello ──► answers… ──► half-close / broken / protocol error
//
// The hub decides about work (it may end the stream by on_disconnect) and has its news noted down
// here for the writer. Lives in the frame of its call's handler; engine thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muster/v1/worker.pb.h"
#include "server/hub/pools.hpp"
#include "server/rpc/message_stream.hpp"
#include "server/rpc/stream_service.hpp"

namespace muster::server {

/// What waits in out_ is bounded by the worker's credits: the core never has more than that
/// unanswered on a stream.
class worker_connection final : public message_stream<v1::WorkerMessage, v1::ServerMessage>,
                                public worker_sink {
 public:
  worker_connection(call& c, pools& all, stream_options const& options);

  /// Serves the stream from hello to status. Completion: the call is finished and the hub has
  /// forgotten the worker. Errors: none. Cancellation: `terminal` cancels the call.
  [[nodiscard]] coro::task<void> run();

  /// Ends the stream with UNAVAILABLE.
  void shut_down();

  // worker_sink
  void on_welcome(core::welcome const& w) override;
  void on_dispatch(std::span<core::assignment const> batch) override;
  void on_stop(core::stop_request const& s) override;
  void on_retract(core::retract_request const& r) override;
  void on_drop(core::per_worker_id value) override;
  void on_drain() override;
  void on_rank_orders(core::rank_orders const& o) override;
  void on_log_query(rank_log_query const& q) override;
  void on_lines_query(last_lines_query const& q) override;
  void on_stacks_query(stacks_query const& q) override;
  void on_hold_steps(doctor::hold_steps const& order) override;
  void on_stop_after(doctor::stop_after const& order) override;
  void on_vitals_query(vitals_query const& q) override;
  void on_stack_query(std::uint64_t number) override;
  void on_objects_begin(core::objects::begin_order const& b) override;
  void on_build(core::object_id id, core::objects::object_spec const& spec) override;
  void on_call(core::objects::call_order const& o, std::string const& method,
               core::blob const& args) override;
  void on_drop_object(core::object_id id) override;
  std::size_t bytes_to_send() const override { return out_.bytes(); }
  void on_object_answer(core::objects::call_answer const& a) override;
  void on_disconnect(muster::status const& why, bool final) override;

 private:
  // message_stream
  muster::status take(v1::WorkerMessage const& message) override;
  void refused(muster::status const& why) override;
  void input_ended() override;
  void write_failed() override { connection_lost(); }
  void finished(bool sent) override;

  muster::status take_hello(v1::Hello const& hello);
  muster::status take_results(v1::WorkerMessage const& message);
  muster::status take_ranks(v1::WorkerMessage const& message);
  muster::status take_process_end(v1::ProcessEnd const& end);
  muster::status take_objects(v1::WorkerMessage const& message);
  muster::status take_object_reports(v1::ObjectReports const& reports);
  void objects_attached(std::int64_t index);
  std::vector<core::closure_id> naming_blobs(std::vector<core::worker_result> const& results) const;
  void keep_blob_of(core::closure_id closure);
  /// Tells the hub that the worker is gone, unless it knows. `process_ended`: only its process has
  /// ended, which executed this closure.
  void leave_hub(bool clean, std::string reason, bool may_return = false,
                 std::optional<core::held_closure> process_ended = {});
  void connection_lost();
  /// Says which answers are on the disk: once for all that came while it was being written.
  void acknowledge();

  pools& pools_;
  hub* hub_ = nullptr;  // of its cluster, since hello
  stream_options const& options_;

  core::stream_id stream_{};
  bool greeted_ = false;                     // hello was taken
  bool attached_ = false;                    // the hub knows this sink
  std::shared_ptr<std::string const> task_;  // "worker:3", for the log and for its lines
  std::vector<std::uint32_t> numbers_;       // by function_id: the function's number on this stream

  core::worker_results results_;

  bool half_closed_ = false;         // the input ended; whether in order, finished() learns
  bool leave_asked_ = false;         // the worker has said that it wants to go
  std::string job_;                  // of its task
  std::uint64_t tasks_version_ = 0;  // of the number that it was told
  std::uint32_t workers_told_ = 0;
  std::size_t outstanding_ = 0;  // closures sent and not answered

  bool inputs_beside_bytes_ = false;  // the worker takes them
  bool takes_ranks_ = false;          // of programs

  core::incarnation incarnation_{};  // of the hello
  std::string host_;                 // as its hello says
  std::int64_t index_ = -1;          // of its task
  bool takes_objects_ = false;
  std::uint64_t object_answers_ = 0;       // the number of the last that came
  std::size_t object_answers_untold_ = 0;  // of these, so many that it does not know to be here
  std::size_t object_bytes_untold_ = 0;

  bool acknowledges_ = false;   // the worker keeps answers, and there is a disk
  std::uint64_t answered_ = 0;  // answers of this stream that the hub has, and…
  std::uint64_t awaited_ = 0;   // …those of them that the disk was asked about
  std::uint64_t rest_on_ = 0;   // the last batch of the journal that has something of them
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // known to who waits for the disk
};

}  // namespace muster::server
