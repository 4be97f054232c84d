// Stream of a worker: after the hello, receives answers and sends assignments until either side
// ends the stream. Messages from the worker:
//
//   hello ──► answers… ──► half-close / broken stream / protocol error
//
// The hub assigns work and can end the stream by on_disconnect. Created by the call's handler; used
// only on the engine thread.
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

/// Connection of a worker. The worker's credits bound the pending output, because they limit the
/// number of unanswered closures on a stream.
class worker_connection final : public message_stream<v1::WorkerMessage, v1::ServerMessage>,
                                public worker_sink {
 public:
  worker_connection(call& c, pools& all, stream_options const& options);

  /// Completes when the call is finished and the hub has removed the worker. Does not fail.
  /// Cancelling with `terminal` cancels the call.
  [[nodiscard]] coro::task<void> run();

  void shut_down();

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
  /// Reports to the hub that the worker has left, unless this was already reported. If
  /// `process_ended` is set, only the worker process that executed this closure has ended.
  void leave_hub(bool clean, std::string reason, bool may_return = false,
                 std::optional<core::held_closure> process_ended = {});
  void connection_lost();
  /// Acknowledges answers that are on disk; answers that arrived during one write are acknowledged
  /// together.
  void acknowledge();

  pools& pools_;
  hub* hub_ = nullptr;
  stream_options const& options_;

  core::stream_id stream_{};
  bool greeted_ = false;
  bool attached_ = false;
  std::shared_ptr<std::string const> task_;  // "worker:3", for the log and for log lines
  std::vector<std::uint32_t> numbers_;       // function numbers of this stream, by function_id

  core::worker_results results_;

  // Whether the input has ended. finished() decides whether the worker left in order.
  bool half_closed_ = false;
  bool leave_asked_ = false;
  std::string job_;
  std::uint64_t tasks_version_ = 0;  // version of the last task count that was sent
  std::uint32_t workers_sent_ = 0;
  std::size_t outstanding_ = 0;

  bool inputs_beside_bytes_ = false;
  bool takes_ranks_ = false;

  core::incarnation incarnation_{};
  std::string host_;
  std::int64_t index_ = -1;
  bool takes_objects_ = false;
  std::uint64_t object_answers_ = 0;
  std::size_t unacknowledged_object_answers_ = 0;
  std::size_t unacknowledged_object_bytes_ = 0;

  bool acknowledges_ = false;  // whether the worker stores answers and there is a journal
  std::uint64_t answered_ = 0;
  std::uint64_t awaited_ = 0;     // number of unacknowledged answers that wait for the journal
  std::uint64_t last_batch_ = 0;  // last journal batch with records of the unacknowledged answers
  // Lets journal callbacks detect that this object was destroyed.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::server
