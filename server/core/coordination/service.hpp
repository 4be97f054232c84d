// The coordination service of one generation of a cluster. Unmodified JAX and TensorFlow agents can
// use the service; error messages additionally contain missing tasks and the first cause. All
// consequences of an event are handled within the step; see error_propagation. A transition can use
// only the transitions that precede it in this list:
//   step, record; queries, notices, keys, polls; membership; barrier callers; error propagation;
//   failure detector, barrier service; registration, shutdown.
// Used only on the engine thread, like all transitions.
#pragma once

#include "server/core/coordination/generation_views.hpp"
#include "server/core/coordination/touched.hpp"
#include "server/core/coordination/transitions/failure_detector.hpp"
#include "server/core/coordination/transitions/key_requests.hpp"
#include "server/core/coordination/transitions/registration.hpp"
#include "server/core/coordination/transitions/shutdown.hpp"

namespace muster::core::coordination {

class service {
 public:
  service(cluster_spec const& spec, limits const& l, generation g, change_log log);
  service(service const&) = delete;

  /// Writes the reply to `fx` in this step or a later step. REQUIRES: `now` does not decrease; the
  /// call id is not parked.
  void perform(time_point now, request& r, effects& fx);
  void call_abandoned(time_point now, call_id call, effects& fx);
  void connection_closed(time_point now, task_index t, core::incarnation i);
  /// See fail_cluster. REQUIRES: the generation has neither failed nor ended.
  void give_up(time_point now, fault_ptr const& f, bool refuses, effects& fx);
  void tick(time_point now, effects& fx);
  void stop(time_point now, effects& fx);
  time_point next_deadline() const;
  /// Takes the keys of a service that has no registrations or parked calls. REQUIRES: no request
  /// was made.
  void inherit(service& before) { store_.take_entries(before.store_); }

  void append_changed_records(touched const& by, std::vector<fact>& out) const;
  void append_all_records(std::vector<fact>& out) const;
  /// Omits the cluster's declarations.
  cluster_fact facts() const { return record_.facts(); }
  void write_state(change_log const& log) const;
  /// REQUIRES: no request was made.
  void restore(restored_cluster const& r, time_point now);

  generation const& which() const { return step_.which; }
  core::incarnation incarnation() const { return step_.which.incarnation; }
  generation_state state() const { return record_.state(); }
  bool knows(core::incarnation i) const { return registry_.knows(i); }
  std::vector<core::incarnation> incarnations() const { return registry_.incarnations(); }
  bool knows_peer(std::string const& peer) const { return registry_.find({}, peer) != no_task; }
  std::vector<std::string> peers() const { return registry_.peers(); }
  std::size_t parked_calls() const { return step_.calls.size(); }
  bool tells_by_heartbeat() const { return polls_.by_heartbeat(); }

  generation_view view(time_point now) const;
  unreachable_tasks unreachable_by_notices() const { return notices_.unheard(); }
  generation_views views() const {
    return {step_.which.number, step_.spec,        registry_, barriers_, store_,
            step_.calls,        callers_.devices()};
  }

  std::string violated_invariant() const;

 private:
  void on(register_task& r) { registration_.on(r); }
  void on(heartbeat& r) { registration_.on(r); }
  void on(shutdown_task& r);
  void on(reset_task& r) { shutdown_.on(r); }
  void on(report_error& r) { detector_.on(r); }
  void on(poll_for_error& r) { polls_.on(r); }
  void on(wait_for_all_tasks& r) { barrier_service_.on(r); }
  void on(get_task_state& r) { queries_.on(r); }
  void on(watch_tasks& r) { queries_.on(r); }
  void on(insert_key_value& r) { keys_.on(r); }
  void on(get_key_value& r) { keys_.on(r); }
  void on(increment_key_value& r) { keys_.on(r); }
  void on(get_key_value_dir& r) { keys_.on(r); }
  void on(delete_key_value& r) { keys_.on(r); }
  void on(enter_barrier& r) { barrier_service_.on(r); }
  void on(cancel_barrier& r) { barrier_service_.on(r); }
  void on(get_alive_tasks& r) { queries_.on(r); }

  void begin(time_point now, effects& fx);
  void note_changes();
  bool refused(caller const& from);
  template <class Request>
  bool refused_after_failure(Request const& r);
  /// Refuses a visitor's write if the run has failed. Returns whether the write was refused.
  bool refused_as_failed(caller const& from, bool visits);
  template <class Request>
  void note_sign_of_life(Request const& r);
  void end_waits(fault_ptr const& f);
  void refuse_stopped(request const& r);
  void withdraw(call_id call, waiting_call const& w);
  std::string early_text(waiting_call const& w);
  void answer_early(call_id call);

  step_frame step_;
  task_registry registry_;
  closed_connections closed_;
  barrier_table barriers_;
  key_value_store store_;
  task_descriptions wording_;
  generation_record record_;
  task_queries queries_;
  preemption_notices notices_;
  key_requests keys_;
  error_polling polls_;
  membership members_;
  barrier_faults faults_;
  barrier_callers callers_;
  error_propagation propagation_;
  failure_detector detector_;
  barrier_service barrier_service_;
  coordination::registration registration_;
  coordination::shutdown shutdown_;

  std::int64_t version_before_ = 0;
};

}  // namespace muster::core::coordination
