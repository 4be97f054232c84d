// The coordination service of one generation of a cluster: from the first registration until the
// run has failed or everybody has left. Semantics are those that unmodified JAX and TensorFlow
// agents rely on; where their users suffer it says more: who is missing, what came first.
//
// Routes each request to the parts that hold the state (roster, barriers, keys, watches, …), which
// know nothing of each other, and carries on what they say. Owned by `cluster`; engine thread only;
// pure.
//
// What follows from one event is carried on at once and completely, depth first, so that nobody
// hears of a consequence before its cause:
//   1. A task fails: all that fail with it are marked; the generation fails and those who poll are
//      told; barriers they took part in end; sets that ask who is alive are answered; last, when
//      nobody polls, everybody else is marked.
//   2. A task leaves: barriers it took part in end; sets that ask who is alive are answered; its
//      poll ends.
//   3. A barrier ends: it is forgotten or remembered; what that means to the tasks is carried on (1
//      or 2, for the service's own barriers); its callers are answered, in order of their tasks.
//   4. A task connects, fails, leaves or is replaced: watchers are told by the next tick that is
//      due, at once when they are few, else some milliseconds later.
// A tick looks at heartbeats and closed connections, then barriers, then waiting calls, then
// watchers.
#pragma once

#include "server/core/coordination/generation_views.hpp"
#include "server/core/coordination/transitions/error_polling.hpp"
#include "server/core/coordination/transitions/key_requests.hpp"
#include "server/core/coordination/transitions/task_queries.hpp"

namespace muster::core::coordination {

class service {
 public:
  service(cluster_spec const& spec, limits const& l, generation g);

  /// Performs a request; its reply is in `fx` now or in a later step's. REQUIRES: now does not go
  /// backwards; the call id is not parked.
  void perform(time_point now, request& r, effects& fx);
  /// The caller went away: whatever it waited for is withdrawn, no reply comes.
  void call_gone(time_point now, call_id call, effects& fx);
  /// See coordination::connection_closed.
  void connection_closed(time_point now, task_index t, core::incarnation i);
  /// Something is due: silent tasks, deadlines, watchers.
  void tick(time_point now, effects& fx);
  /// Answers every parked call; afterwards every request is refused.
  void stop(time_point now, effects& fx);
  time_point next_deadline() const;
  /// Takes over the keys of a service which nobody has registered at and no call waits at. Before
  /// the first request.
  void inherit(service& before) { store_.take_entries(before.store_); }

  /// What changed since the last time that a restart must know; nothing unless journalled.
  void say_changes(std::vector<fact>& out);
  void forget_changes();
  /// All that it would have said since it began, but for barriers that run.
  void say_everything(std::vector<fact>& out) const;
  /// What the service knows of its generation; the declarations are the owner's.
  cluster_fact facts() const { return record_.facts(); }
  /// Whether facts() may have changed since the last time that this was asked.
  bool facts_changed() { return record_.facts_changed(); }
  /// As it was. Before the first request.
  void restore(restored_cluster const& r, time_point now);

  generation const& which() const { return step_.which; }
  core::incarnation incarnation() const { return step_.which.incarnation; }
  generation_state state() const { return record_.state(); }
  /// Whether a registration with this incarnation belongs here rather than to a new generation.
  bool knows(core::incarnation i) const { return roster_.knows(i); }
  /// Of all its tasks that have registered.
  std::vector<core::incarnation> incarnations() const { return roster_.incarnations(); }
  /// Whether one of its tasks registered from this address.
  bool knows_peer(std::string const& peer) const { return roster_.find({}, peer) != no_task; }
  /// The addresses its tasks registered from.
  std::vector<std::string> peers() const { return roster_.peers(); }
  std::size_t parked_calls() const { return step_.calls.size(); }
  /// Whether tasks hear of errors by their heartbeats; see error_delivery.
  bool tells_by_heartbeat() const { return polls_.by_heartbeat(); }

  generation_view view(time_point now) const;
  unheard_notices notices_unheard() const { return notices_.unheard(); }
  /// Of its tasks, barriers and keys.
  generation_views views() const {
    return {step_.which.number, step_.spec, roster_, barriers_, store_, step_.calls, devices_};
  }

  /// Empty when every invariant holds, else the first that does not, in words.
  std::string violated_invariant() const;

  /// Between steps. The declaration and the limits are the owner's.
  template <class Archive>
  void walk(Archive& a) {
    a(roster_, barriers_, store_, step_.calls, queries_, devices_, record_, polls_, closed_,
      notices_, next_check_, step_.stopped);
  }

 private:
  /// A task and what went wrong with it; null: it left.
  struct task_error {
    task_index task = no_task;
    fault_ptr error;
  };

  // One overload a request; each answers or parks its call.
  void on(register_task& r);
  void on(heartbeat& r);
  void on(shutdown_task& r);
  void on(reset_task& r);
  void on(report_error& r);
  void on(poll_for_error& r) { polls_.on(r); }
  void on(wait_for_all_tasks& r);
  void on(get_task_state& r) { queries_.on(r); }
  void on(watch_tasks& r) { queries_.on(r); }
  void on(insert_key_value& r) { keys_.on(r); }
  void on(get_key_value& r) { keys_.on(r); }
  void on(increment_key_value& r) { keys_.on(r); }
  void on(get_key_value_dir& r) { keys_.on(r); }
  void on(delete_key_value& r) { keys_.on(r); }
  void on(enter_barrier& r);
  void on(cancel_barrier& r);
  void on(get_alive_tasks& r) { queries_.on(r); }

  // service.cpp: routing, clockwork, waiting calls, keys, who is alive
  void begin(time_point now, effects& fx);
  void note_changes();
  bool refused(caller const& from);
  void refuse_stopped(request const& r);
  void withdraw(call_id call, waiting_call const& w);
  std::string early_text(waiting_call const& w);
  void answer_early(call_id call);
  void note_closed(task_index t);

  // service_tasks.cpp: how tasks come, fail and leave
  /// Whether the task is in an error from which a new incarnation may bring it back here.
  bool takes_back(task_index task) const;
  void connect(task_index t, core::incarnation i);
  void reconnect(register_task const& r);
  void refuse_registration(register_task const& r, std::string why);
  void check_heartbeats();
  void check_connections();
  /// `how`: what each died of; `told`: what all others hear.
  void fail_dead(std::vector<task_index> const& dead, std::string const& how,
                 std::string const& told);
  bool mark_error(task_index t, fault_ptr const& f);
  void fail_tasks(std::vector<task_error> const& errors, fault_ptr const& told);
  void fail_everybody(std::string const& message);
  void leave(caller const& from, task_ref const& who);
  void disconnect(std::vector<task_index> const& leavers, bool quietly = false);

  // service_barriers.cpp: how tasks meet
  void enter(caller const& from, arrival a, task_ref const& who, std::string const& stranger = {},
             core::incarnation i = {});
  void enter_shutdown(caller const& from, task_index t);
  fault_ptr hopeless(barrier const& b, std::string const& stranger) const;
  static std::string stranger_text(barrier const& b, std::string const& stranger);
  fault_ptr mismatch(barrier const& b, arrival const& a, task_ref const& who) const;
  fault_ptr misuse(barrier const& b, arrival const& a, arrival_fit fit, task_ref const& who,
                   std::string const& stranger) const;
  void supersede(barrier const& b, call_id call);
  void step_out(barrier const& b, task_index t);
  barrier_end end_barrier(barrier_number n, fault_ptr result);
  void after_barrier(barrier_end const& e);
  void after_registration(barrier_end const& e);
  void answer_barrier(barrier_end const& e, call_id call);
  fault_ptr shutdown_fault(fault_ptr const& result) const;
  void barrier_due(barrier_number n);
  void blame_missing(barrier const& b);
  void leave_barriers(std::vector<task_error> const& leavers);
  void leave_barrier(barrier const& b, task_error const& leaver);
  std::string const& missing_text(barrier const& b);

  step_frame step_;
  task_roster roster_;
  barrier_table barriers_;
  key_value_store store_;
  closed_connections closed_;
  wording wording_;
  generation_record record_;
  task_queries queries_;
  preemption_notices notices_;
  key_requests keys_;
  error_polling polls_;
  device_exchange devices_;

  time_point next_check_{};          // heartbeats are not looked at more often than this
  std::int64_t version_before_ = 0;  // of the roster, before the step
  std::size_t broken_told_ = 0;      // barriers that the step broke
};

}  // namespace muster::core::coordination
