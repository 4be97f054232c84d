// One coordinator session's stream: closures in, outcomes out.
//
//   reading:  open ──► closures… ──► half-close (seal) / broken / protocol error
//             a session that holds values survives all of these but the last, and close
//             pauses while the session's queue is full or its outcomes pile up here
//   writing:  whatever is pending whenever the write slot is free; last, the status:
//             OK once sealed, drained and written
//
// Lives in the frame of its call's handler; engine thread only.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <string>
#include <vector>

#include "coro/event.hpp"
#include "coro/server_bidi.hpp"
#include "coro/timer_queue.hpp"
#include "muster/v1/coordinator.pb.h"
#include "proto/outbox.hpp"
#include "server/hub/hub.hpp"
#include "server/rpc/sessions/coordinator_service.hpp"

namespace muster::server {

class session_stream final : public session_sink {
 public:
  using call = coro::server_bidi<grpc::ByteBuffer, grpc::ByteBuffer>;

  session_stream(server::hub& h, call& c, coordinator_service_options const& options);
  session_stream(session_stream const&) = delete;

  /// Serves the stream from open to status. Completion: the call is finished and the session is
  /// closed. Errors: none. Cancellation: `terminal` cancels the call.
  [[nodiscard]] coro::task<void> run();

  /// Ends the stream with UNAVAILABLE.
  void shut_down();

  // session_sink
  void on_outcome(core::outcome const& o) override;
  void on_notice(core::session_notice const& n) override;
  void on_taken_over() override;

 private:
  [[nodiscard]] coro::task<void> read_all();
  [[nodiscard]] coro::task<void> write_all();

  muster::status take_read();
  muster::status take(v1::SessionRequest const& message);
  muster::status take_open(v1::Open const& open);
  muster::status open_new(v1::Open const& open);
  muster::status resume(v1::Open const& open, core::resume_reply& resumed);
  void take_requests(v1::SessionRequest const& message);
  void tell_missed(core::resume_reply const& r);
  muster::status take_per_worker(v1::SessionRequest const& message);
  muster::status take_names(v1::SessionRequest const& message);
  /// The read gave nothing: half-closed, cancelled or broken.
  void input_ended();
  bool may_read() const;
  /// Everything was delivered and no more can come.
  bool complete() const { return sealed_ && drained_ && out_.empty(); }
  /// Moves the oldest pending message into written_.
  void encode_next();
  /// Sets the status that the writer sends. The first one counts.
  void end(grpc::Status status);
  /// The stream is going: the session goes with it, or waits for its client's return.
  void leave_session();

  hub& hub_;
  call& call_;
  coordinator_service_options const& options_;

  core::session_id session_{};
  bool open_ = false;  // the hub knows this sink
  bool holding_ = false;
  bool forget_ = false;                       // with the stream, although it holds values
  bool sealed_ = false;                       // half-closed
  bool drained_ = false;                      // since then: nothing is queued or running
  std::vector<core::function_id> functions_;  // by the client's number
  /// Undelivered outcomes, in entries. More: the stream is not read; what is in the core's queue
  /// still ends here, so the outbox holds at most this, a queue's capacity and what runs.
  std::size_t outcomes_max_ = 0;

  coro::event pending_;  // there is something to write, or the end has come
  coro::event room_;     // may_read() may have become true, or the end has come
  proto::outbox<v1::SessionResponse> out_;
  grpc::ByteBuffer written_;

  grpc::ByteBuffer read_;
  v1::SessionRequest message_;
  core::schedule batch_;

  bool ended_ = false;
  grpc::Status status_;
  coro::timer deadline_;  // of open, then of the end
};

}  // namespace muster::server
