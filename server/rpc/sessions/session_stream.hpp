// One coordinator session's stream: closures in, outcomes out.
//
//   open ──► closures… ──► half-close (seal) / broken / protocol error
//   a session that holds values survives all of these but the last, and close
//
// It is not read while the session's queue is full or its outcomes pile up here, and ends with OK
// once sealed, drained and written. Lives in the frame of its call's handler; engine thread only.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/v1/coordinator.pb.h"
#include "server/core/access/token.hpp"
#include "server/hub/pools.hpp"
#include "server/hub/submission.hpp"
#include "server/rpc/message_stream.hpp"
#include "server/rpc/sessions/log_feed.hpp"
#include "server/rpc/stream_service.hpp"

namespace muster::server {

class session_stream final : public message_stream<v1::SessionRequest, v1::SessionResponse>,
                             public session_sink {
 public:
  session_stream(call& c, pools& all, stream_options const& options);

  /// Serves the stream from open to status. Completion: the call is finished and the session is
  /// closed. Errors: none. Cancellation: `terminal` cancels the call.
  [[nodiscard]] coro::task<void> run();

  /// Ends the stream with UNAVAILABLE.
  void shut_down();

  // session_sink
  void on_outcome(core::outcome const& o) override;
  void on_notice(core::session_notice const& n) override;
  void on_object_answer(core::objects::call_answer const& a) override;
  void on_replaced() override;
  void on_removed(muster::status const& why) override;
  void on_journal_failure(muster::status const& why) override;

 private:
  // message_stream
  muster::status take(v1::SessionRequest const& message) override;
  void refused(muster::status const&) override { forget_ = true; }
  void input_ended() override;
  bool may_read() override;
  /// Everything was delivered and no more can come.
  bool complete() const override { return (sealed_ && drained_) || closing_; }
  void before_write() override;
  /// Adds a report of the queue to the next message if it has changed.
  void report_queue();
  void ending() override { leave_session(); }

  muster::status take_open(v1::Open const& open);
  /// On its client's word.
  void close();
  /// With the lines that are there; what else waits here nobody wants.
  void end_with_lines();
  muster::status open_new(v1::Open const& open);
  muster::status resume(v1::Open const& open, core::resume_reply& resumed);
  void take_requests(v1::SessionRequest const& message);
  /// Does what a message asks for besides closures.
  muster::status take_rest(v1::SessionRequest const& message);
  /// Appends the closures of batch_, as many as the token may queue. The others wait in behind_.
  void append_batch(v1::SessionRequest const& message);
  void append_behind();
  /// Gives closures to the hub, and counts them as taken.
  void apply(core::schedule& event);
  void tell_missed(core::resume_reply const& r);
  void on_suspect(core::session_notice const& n);
  muster::status take_objects(v1::ObjectRequests const& requests);
  /// Creates the object and answers, or notes it in `waiting_`: see object_hub.
  void create(v1::NewObject const& asked);
  /// Creates the waiting objects whose names are free, and looks again at the others later.
  void create_waiting();
  void tell_found(std::uint64_t number, muster::result<core::object_id> const& id);
  void tell_made(std::uint64_t number, muster::result<core::dataset_id> const& id);
  muster::status take_per_worker(v1::SessionRequest const& message);
  muster::status take_names(v1::SessionRequest const& message);
  /// The stream is going: the session goes with it, or waits for its client's return.
  void leave_session();

  pools& pools_;
  hub* hub_ = nullptr;  // of its cluster, since open
  stream_options const& options_;

  core::caller limited_;  // whose token has limits of its own
  core::session_id session_{};
  bool open_ = false;  // the hub knows this sink
  bool resumable_ = false;
  bool told_ticket_ = false;                  // of objects
  bool forget_ = false;                       // with the stream, although it holds values
  bool sealed_ = false;                       // half-closed
  bool drained_ = false;                      // since then: nothing is queued or running
  bool closing_ = false;                      // what is to be written is the last
  std::vector<core::function_id> functions_;  // by the client's number
  /// Undelivered outcomes, in entries. More: the stream is not read; what is in the core's queue
  /// still ends here, so out_ holds at most this, a queue's capacity and what runs.
  std::size_t outcomes_max_ = 0;

  bool reports_queue_ = false;  // the client asked for it
  std::uint64_t taken_ = 0;     // closures of this stream
  v1::QueueReport reported_;
  std::size_t capacity_ = 0;  // of the session's queue

  std::optional<log_feed> lines_;  // when the client asked for them, since `opened` was sent
  submission batch_;
  /// The rest of a message whose closures are more than the token may queue. The stream is not read
  /// until they are appended; then comes what else the message asks for.
  struct rest_of_message {
    core::schedule closures;
    v1::SessionRequest message;
  };
  std::optional<rest_of_message> behind_;
  coro::timer queue_look_;  // while the queue is full
  coro::timer later_;       // what happens only after a while
  coro::timer lost_;        // ends the stream outside of the hub
  /// Objects whose names may become free. The stream is not read until they are made or refused.
  std::vector<v1::NewObject> waiting_;
  coro::timer names_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // known to what waits for the disk
};

}  // namespace muster::server
