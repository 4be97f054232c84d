// Owns a cluster's core: executes events, delivers their effects, and manages the core's timer.
//
//   apply, ask ──► core::coordinator ──► effects ──┬──► worker_hub    closures
//                         │                        ├──► commit_gate   records for the journal
//                         ▼                        ├──► program_hub   ranks, clusters, records
//                 history, object_hub,             ├──► session_hub   outcomes
//                 rank_steps: changes              └──► reply_table   answers, last
//
// Used only on the engine thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/core/coordinator.hpp"
#include "server/history/history.hpp"
#include "server/history/machines/machines.hpp"
#include "server/hub/event_traits.hpp"
#include "server/hub/hub_dependencies.hpp"
#include "server/hub/log_store.hpp"
#include "server/hub/object_hub.hpp"
#include "server/hub/reply_table.hpp"
#include "server/hub/session_hub.hpp"
#include "server/hub/worker_hub.hpp"

namespace muster::server {

class hub {
 public:
  /// Reason that worker streams report at a shutdown, which does not count as a loss of the worker.
  static constexpr char const* shutdown_reason = "the server is shutting down";

  hub(core::config config, hub_dependencies dependencies, log_limits limits = {});

  /// Executes an event (see core/api/model.hpp) and delivers its effects before returning.
  template <class Event>
  void apply(Event&& e) {
    auto const inputs = traits_.inputs(e);
    if (auto const* const ranks = traits_.ranks(e)) programs_.record(*ranks);
    auto const ended = traits_.ended_ranks(e);
    auto const at = now();
    auto const& fx = core_.step(at, e);
    history_.fold(fx, at);
    if (!inputs.empty())
      if (auto const to = traits_.consumer(e, fx); core_.has(to)) gate_.add_inputs(to, inputs);
    finish_step(fx, traits_.disconnect(e));
    if (!ended.ended.empty()) {
      programs_.record(ended);
      programs_.steps().record_ends(ended);
    }
    programs_.write_records();
  }

  /// Executes an event with a `call`. Passes the reply to `done` exactly once, possibly before
  /// `ask` returns. Returns the call ID, for `forget`.
  using reply_handler = reply_table<core::reply, core::session_id>::handler;
  template <class Event>
  core::call_id ask(Event e, reply_handler done) {
    e.call = calls_.expect(std::move(done),
                           gate_.has_journal() ? traits_.session(e) : core::session_id{});
    auto const call = e.call;
    if (auto refused = traits_.refusal(e); refused.ok())
      apply(e);
    else
      calls_.deliver({core::reply{call, std::move(refused), {}}});
    return call;
  }
  /// Executes an event that the core answers within its step. The answer may depend on records that
  /// are not durable yet: see session_hub::run_after_pending_commits.
  template <class Event>
  core::reply ask_now(Event e) {
    core::reply answer;
    if (auto refused = traits_.refusal(e); !refused.ok()) {
      answer.status = std::move(refused);
      return answer;
    }
    immediate_ = e.call = calls_.expect([&answer](core::reply const& r) { answer = r; });
    apply(e);
    immediate_ = {};
    return answer;
  }
  /// Returns the functions' numbers. The status is INVALID_ARGUMENT if a name is empty, too long or
  /// contains control characters, and RESOURCE_EXHAUSTED if there are too many names. On an error,
  /// `ids` ends before the rejected name.
  struct function_numbers {
    muster::status status;
    std::vector<core::function_id> ids;
  };
  function_numbers learn(std::vector<std::string> names);
  void forget(core::call_id call) {
    if (calls_.forget(call)) apply(core::call_abandoned{call});
  }

  core::stream_id attach(worker_sink& sink) { return workers_.attach(sink); }
  void detach(core::stream_id stream) {
    workers_.detach(stream);
    programs_.forget_worker(stream);
  }
  void attach(core::session_id session, session_sink& sink) { sessions_.attach(session, sink); }
  void detach(core::session_id session) { sessions_.detach(session); }

  /// Calls `then` once the object's current state is durable or lost.
  void when_durable(core::session_id s, commit_queue::callback then) {
    gate_.when_durable(s, std::move(then));
  }
  void when_durable(core::closure_id c, commit_queue::callback then) {
    gate_.when_durable(core_.session_of(c), std::move(then));
  }
  void when_durable(auto, commit_queue::callback then) {
    gate_.when_durable(core::session_id{}, std::move(then));
  }

  /// Stores a report. If the stream does not run the attempt, the report is only counted.
  void report(core::stream_id stream, log_line line);
  void report(core::stream_id stream, core::closure_id closure, closure_progress progress);
  void report(core::stream_id stream, machine seen);

  /// Restores durable jobs from an earlier server process. REQUIRES: nothing has been scheduled.
  void restore(std::vector<core::restored_job> jobs);
  void on_deadline();
  void follow_deadlines();
  /// Ends all calls, sessions and workers with this reason. Nothing can attach afterwards.
  void close(std::string const& why);

  core::coordinator const& state() const { return core_; }
  core::time_point now() const { return now_(); }
  std::string const& cluster() const { return events_.cluster; }
  event_publisher const& events() const { return events_; }
  history::history& past() { return history_; }
  history::history const& past() const { return history_; }
  /// Hosts of the workers and, in the main cluster, the server's host.
  history::machines& machines() { return machines_; }
  history::machines const& machines() const { return machines_; }
  log_store& logs() { return logs_; }
  log_store const& logs() const { return logs_; }
  commit_gate& gate() { return gate_; }
  worker_hub& workers() { return workers_; }
  session_hub& sessions() { return sessions_; }
  object_hub& objects() { return objects_; }
  object_hub const& objects() const { return objects_; }
  program_hub& programs() { return programs_; }
  program_hub const& programs() const { return programs_; }

 private:
  void finish_step(core::effects const& fx, core::worker_disconnected const* disconnect);
  void deliver(core::effects const& fx);
  void answer(core::effects const& fx);
  void log_worker_attached(core::welcome const& w);
  void log_worker_left(core::stream_id stream, bool clean, std::string const& reason);

  std::function<core::time_point()> const now_;
  std::function<void(core::time_point)> const arm_;
  std::function<void(std::vector<core::value_move>)> const move_values_;
  std::function<void(core::closure_id)> const recomputed_;
  std::function<void()> const over_budget_;
  event_publisher const events_;
  std::unique_ptr<core::server_wide> own_wide_;  // null if server_wide is shared
  core::coordinator core_;
  history::history history_;
  history::machines machines_;
  log_store logs_;
  commit_gate gate_;
  event_traits traits_{core_, gate_};
  worker_hub workers_{core_};
  session_hub sessions_{core_, gate_};
  reply_table<core::reply, core::session_id> calls_;
  core::call_id immediate_{};
  deadline_alarm alarm_;
  object_hub objects_{*this};
  program_hub programs_;
};

}  // namespace muster::server
