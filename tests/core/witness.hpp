// Checks events and effects from outside against rules that always hold:
//   - a call is answered once, in its own step unless it can be parked;
//   - a closure is on one worker at a time, its attempts count up, and it ends once;
//   - effects name only attached streams, and dispatches cover the assignments without gaps;
//   - a closure that continues after a reconnect was held by that incarnation and sent to no other;
//   - a worker that answers a closure it does not hold is disconnected;
//   - a session drains at most once a step, with none of its closures left.
// It checks every step of every test of the core, and shares no code with the core.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "server/core/api/effects.hpp"

namespace muster::core {

class witness {
 public:
  void before(event const& e);
  /// Records closures that an earlier server process had sent.
  void note_restored(restored_job const& j);
  /// Returns the first violation, or an empty string.
  std::string after(effects const& fx);

  /// Returns closures in the order of their dispatch.
  std::vector<assignment> const& held(stream_id s) const;
  /// Returns the newest attempt.
  std::uint32_t attempt(closure_id c) const;
  bool attached(stream_id s) const { return streams_.contains(s); }
  std::vector<stream_id> streams() const;
  std::set<call_id> const& open_calls() const { return open_; }
  std::size_t unanswered_tokens(session_id s) const;

 private:
  void note(worker_attached const& e);
  void note(worker_disconnected const& e);
  void note(worker_results const& e);
  void note(schedule const& e);
  void note(open_session const& e);
  void owe(session_id s, std::uint64_t token);
  std::string check_calls(effects const& fx);
  std::string check_kept(welcome const& w);
  std::string check_stops(effects const& fx) const;
  std::string check_disconnects(effects const& fx);
  std::string check_dispatches(effects const& fx);
  std::string check_sessions(effects const& fx);

  std::map<stream_id, std::vector<assignment>> streams_;
  std::map<stream_id, std::vector<assignment>> before_;  // state before the event
  std::map<closure_id, std::uint32_t> attempts_;
  using process = std::tuple<std::string, std::int64_t, incarnation>;  // task and incarnation
  std::map<stream_id, process> processes_;
  /// Held by broken streams and not sent again.
  std::map<process, std::vector<assignment>> away_;
  std::vector<held_closure> offered_;  // by the attaching worker
  std::set<call_id> open_;
  std::map<session_id, std::multiset<std::uint64_t>> tokens_;  // of streaming sessions
  // Closures of streaming sessions that other errors do not end.
  std::set<std::pair<session_id, std::uint64_t>> own_errors_;
  std::vector<std::uint64_t> awaiting_;  // scheduled if the reply is positive
  bool awaiting_reply_ = false;
  std::set<session_id> resumable_;
  bool opening_resumable_ = false;
  bool opening_ = false;  // if the session is new
  call_id call_{};
  bool may_park_ = false;
  stream_id joined_{};
  incarnation joined_as_{};
  stream_id at_fault_{};  // answered a closure that it does not hold
};

}  // namespace muster::core
