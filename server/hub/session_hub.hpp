// Delivers outcomes and notices to the streams of sessions. Events that depend on the journal are
// delivered once they are durable. Owned by a hub; used only on the engine thread.
#pragma once

#include "server/hub/commit_gate.hpp"

namespace muster::server {

/// Called within a step, so that an implementation must only queue and signal, and never call the
/// hub.
class session_sink {
 public:
  virtual ~session_sink() = default;
  virtual void on_outcome(core::outcome const& o) = 0;
  virtual void on_notice(core::session_notification const& n) = 0;
  virtual void on_object_answer(core::objects::call_answer const&) {}
  /// Another sink now serves the session. No further calls follow.
  virtual void on_replaced() = 0;
  /// The session was removed with its cluster. No further calls follow.
  virtual void on_removed(muster::status const& why) = 0;
  /// The disk has failed, so events may be lost. No further events follow. The stream must end, but
  /// not within this call.
  virtual void on_journal_failure(muster::status const& why) = 0;
};

class session_hub {
 public:
  session_hub(core::coordinator const& core, commit_gate& gate) : core_(core), gate_(gate) {}

  /// Replaces an existing sink.
  void attach(core::session_id session, session_sink& sink);
  void detach(core::session_id session) { sessions_.erase(session); }
  /// Returns null if the client is disconnected.
  session_sink* sink(core::session_id session) const;
  void remove_all(muster::status const& why);

  void deliver(core::effects const& fx);
  /// Calls `then` once all earlier events of a durable session can be sent, or immediately for
  /// other sessions. After a disk failure, the sink's on_journal_failure is called instead.
  void run_after_pending_commits(core::session_id session, std::function<void()> then);
  /// Returns whether the session's input must wait because the journal is full. The caller must
  /// poll.
  bool is_paused(core::session_id session) const;

 private:
  struct served {
    session_sink* sink = nullptr;
    bool durable = false;
    std::uint64_t behind = 0;  // batch of the last delayed event
  };
  // Events in order of delivery: an error precedes the closures that it cancels, and an end follows
  // its outcomes.
  struct events {
    std::vector<core::session_notification> failures;
    std::vector<core::outcome> outcomes;
    std::vector<core::session_notification> ends;
  };
  /// Returns whether an event must be delayed: the session is durable, depends on a durable
  /// session, or has an earlier delayed event.
  bool waits(core::session_id id, served const& s) const {
    return s.durable || !gate_.is_acknowledged(s.behind) || !gate_.is_durable(id);
  }
  /// `held` receives delayed events; if null, no event is delayed.
  void deliver_outcomes(std::vector<core::outcome> const& outcomes, events* held);
  void deliver_notices(std::vector<core::session_notification> const& notices, bool failed,
                       events* held);
  void deliver_held(events const& all, muster::status const& lost);

  core::coordinator const& core_;
  commit_gate& gate_;
  std::unordered_map<core::session_id, served> sessions_;
};

}  // namespace muster::server
