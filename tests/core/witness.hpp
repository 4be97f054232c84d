// Watches events and effects from outside and knows the rules that hold whatever happens:
//   - a call is answered once, in its own step unless it may park;
//   - a closure is with one worker at a time, its attempts count up, and it ends once;
//   - effects name only streams that are attached, and dispatches tile the assignments;
//   - what goes on after a reconnect was with that incarnation and with nobody since;
//   - a worker that answers what it does not hold is disconnected;
//   - a session drains at most once a step, with nothing of it left.
// Every step of every test of the core passes it. It shares no code with the core.
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
  /// Notes the closures of a job that an earlier process of the server had sent to workers.
  void note_restored(restored_job const& j);
  /// Empty when all rules hold, else the first that was broken, in words.
  std::string after(effects const& fx);

  /// What a stream holds, in the order in which it was sent.
  std::vector<assignment> const& held(stream_id s) const;
  /// The newest attempt that was sent.
  std::uint32_t attempt(closure_id c) const;
  bool attached(stream_id s) const { return streams_.contains(s); }
  std::vector<stream_id> streams() const;
  /// Calls that were asked and neither answered nor given up.
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
  std::map<stream_id, std::vector<assignment>> before_;  // as the event found them
  std::map<closure_id, std::uint32_t> attempts_;
  using process = std::tuple<std::string, std::int64_t, incarnation>;  // the task and who it is
  std::map<stream_id, process> processes_;
  /// What streams that broke held and nobody was sent since.
  std::map<process, std::vector<assignment>> away_;
  std::vector<held_closure> offered_;  // by the worker that attaches
  std::set<call_id> open_;
  std::map<session_id, std::multiset<std::uint64_t>> tokens_;  // of streaming sessions
  std::set<std::pair<session_id, std::uint64_t>> own_errors_;  // of them, that no error ends
  std::vector<std::uint64_t> awaiting_;  // tokens that are scheduled if the reply says so
  bool awaiting_reply_ = false;
  std::set<session_id> resumable_;
  bool opening_resumable_ = false;
  bool opening_ = false;  // and only if the session is new
  call_id call_{};        // of the event
  bool may_park_ = false;
  stream_id joined_{};  // attaches in this event
  incarnation joined_as_{};
  stream_id at_fault_{};  // answered what it does not hold
};

}  // namespace muster::core
