// Stream of a coordinator session: receives closures and sends outcomes. Messages from the client:
//
//   open ──► closures… ──► half-close (seal) / broken stream / protocol error
//
// A session that holds values survives a half-close and a broken stream. A protocol error and
// `close` end it.
//
// The stream is not read while the session's queue is full or too many outcomes are waiting. The
// stream ends with OK once it is sealed, drained and written. Created by the call's handler; used
// only on the engine thread.
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

  /// Completes when the call is finished and the session is closed. Does not fail. Cancelling with
  /// `terminal` cancels the call.
  [[nodiscard]] coro::task<void> run();

  void shut_down();

  void on_outcome(core::outcome const& o) override;
  void on_notice(core::session_notification const& n) override;
  void on_object_answer(core::objects::call_answer const& a) override;
  void on_replaced() override;
  void on_removed(muster::status const& why) override;
  void on_journal_failure(muster::status const& why) override;

 private:
  muster::status take(v1::SessionRequest const& message) override;
  void refused(muster::status const&) override { forget_ = true; }
  void input_ended() override;
  bool may_read() override;
  bool complete() const override { return (sealed_ && drained_) || closing_; }
  void before_write() override;
  void report_queue();
  void ending() override { leave_session(); }

  muster::status take_open(v1::Open const& open);
  void close();
  /// Ends the stream after the remaining log lines. Other pending messages are dropped.
  void end_with_lines();
  muster::status open_new(v1::Open const& open);
  muster::status resume(v1::Open const& open, core::resume_reply& resumed);
  void take_requests(v1::SessionRequest const& message);
  muster::status take_other_requests(v1::SessionRequest const& message);
  /// Appends the closures of batch_, up to the token's quota. The remaining closures wait in
  /// waiting_message_.
  void append_batch(v1::SessionRequest const& message);
  void append_waiting();
  void apply(core::schedule& event);
  void resend_notices(core::resume_reply const& r);
  void on_suspect(core::session_notification const& n);
  muster::status take_objects(v1::ObjectRequests const& requests);
  /// Creates the object and answers, or adds it to `waiting_`; see object_hub.
  void create(v1::NewObject const& asked);
  /// Creates waiting objects whose names are free. Retries later if objects remain.
  void create_waiting();
  void send_found(std::uint64_t number, muster::result<core::object_id> const& id);
  void send_created(std::uint64_t number, muster::result<core::dataset_id> const& id);
  muster::status take_per_worker(v1::SessionRequest const& message);
  muster::status take_names(v1::SessionRequest const& message);
  /// Called when the stream ends. Closes the session, or keeps it until its client reconnects.
  void leave_session();

  pools& pools_;
  hub* hub_ = nullptr;
  stream_options const& options_;

  core::caller limited_;  // the caller, set only if its token has limits
  core::session_id session_{};
  bool open_ = false;
  bool resumable_ = false;
  bool ticket_sent_ = false;
  bool forget_ = false;   // whether the session closes with the stream even if it holds values
  bool sealed_ = false;   // half-closed
  bool drained_ = false;  // whether all closures have finished since the session was sealed
  bool closing_ = false;  // true if only pending messages will be sent
  std::vector<core::function_id> functions_;  // indexed by the client's numbers
  /// Maximum number of undelivered outcomes. Above this limit, the stream is not read. Closures in
  /// the core can still end, so the size of out_ is bounded by this limit plus the queue's capacity
  /// and the number of running closures.
  std::size_t outcomes_max_ = 0;

  bool reports_queue_ = false;
  std::uint64_t taken_ = 0;
  v1::QueueReport reported_;
  std::size_t capacity_ = 0;

  std::optional<log_feed> lines_;
  submission batch_;
  /// The rest of a message whose closures exceed the token's quota. The stream is not read until
  /// the closures are appended. The message's other requests are then processed.
  struct rest_of_message {
    core::schedule closures;
    v1::SessionRequest message;
  };
  std::optional<rest_of_message> waiting_message_;
  coro::timer queue_look_;
  coro::timer later_;
  coro::timer lost_;  // ends the stream after the hub's callback has returned
  /// Objects that wait because their names are in use. The stream is not read until all are created
  /// or refused.
  std::vector<v1::NewObject> waiting_;
  coro::timer names_;
  // Lets journal callbacks detect that this object was destroyed.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::server
