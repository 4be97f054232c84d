// The coordination service kept whole in this process: tasks, barriers, key-values, error
// broadcast, watches, aliveness of one generation. Semantics are those that unmodified JAX and
// TensorFlow agents rely on; where their users suffer it says more: who is missing, what came
// first.
//
//   standalone_service.cpp       routing, clockwork, parked calls
//   standalone_tasks.cpp         register, heartbeat, leave; the state of a task
//   standalone_errors.cpp        errors, and how they reach everybody
//   standalone_barriers.cpp      how tasks come to barriers
//   standalone_barrier_ends.cpp  how barriers end, and what that means to the tasks
//   standalone_key_values.cpp    keys and waits for them
//   standalone_groups.cpp        watches, alive tasks
//   standalone_texts.cpp         who is missing, in words
//   standalone_views.cpp         copies for readers, invariants
#pragma once

#include <algorithm>
#include <map>
#include <set>

#include "server/core/coordination/barrier_table.hpp"
#include "server/core/coordination/key_value_store.hpp"
#include "server/core/coordination/parked_calls.hpp"
#include "server/core/coordination/roll.hpp"
#include "server/core/coordination/service.hpp"
#include "server/core/coordination/service_registry.hpp"

namespace muster::core::coordination {

/// One set of tasks that asks which of it is alive.
struct alive_wait {
  std::vector<task_index> tasks;  // ascending
  std::map<call_id, task_index> calls;
  std::vector<std::uint32_t> asked;  // by position in `tasks`: calls of the task
  // Position of a connected task that had not asked when last looked for; the next look starts
  // here, so that a thousand callers of one set cost a thousand steps rather than a million.
  std::size_t awaited = 0;

  std::size_t position(task_index t) const {
    return static_cast<std::size_t>(std::lower_bound(tasks.begin(), tasks.end(), t) -
                                    tasks.begin());
  }
};

/// A task and what went wrong with it.
struct task_error {
  task_index task = no_task;
  fault_ptr error;
};

class standalone_service final : public service {
 public:
  standalone_service(cluster_spec const& spec, limits const& l, generation g, time_point now);

  void perform(time_point now, request& r, effects& fx) override;
  void call_gone(time_point now, call_id call, effects& fx) override;
  void tick(time_point now, effects& fx) override;
  void stop(time_point now, effects& fx) override;
  time_point next_deadline() const override;
  void inherit(service& before) override;

  core::incarnation incarnation() const override { return generation_.incarnation; }
  generation_state state() const override;
  bool knows(core::incarnation task) const override;
  std::vector<core::incarnation> incarnations() const override;
  bool takes_back(task_index task) const override;
  bool knows_peer(std::string const& peer) const override {
    return roll_.find({}, peer) != no_task;
  }
  std::vector<std::string> peers() const override;
  std::size_t parked_calls() const override { return parked_.size(); }

  generation_view view(time_point now) const override;
  std::vector<agent_view> tasks(time_point now, std::size_t after,
                                std::size_t limit) const override;
  std::vector<barrier_view> barriers(time_point now, std::size_t after,
                                     std::size_t limit) const override;
  std::optional<barrier_view> barrier(time_point now, std::string_view id) const override;
  std::vector<key_view> keys(std::string_view prefix, std::string_view after,
                             std::size_t limit) const override;
  std::optional<key_view> key(std::string_view key) const override;
  std::vector<key_wait_view> key_waits(std::string_view prefix, std::size_t limit) const override;
  std::string violated_invariant() const override;

 private:
  using barrier_type = coordination::barrier;

  // One overload a request; each answers or parks its call.
  void on(register_task& r);
  void on(heartbeat& r);
  void on(shutdown_task& r);
  void on(reset_task& r);
  void on(report_error& r);
  void on(poll_for_error& r);
  void on(wait_for_all_tasks& r);
  void on(get_task_state& r);
  void on(watch_tasks& r);
  void on(insert_key_value& r);
  void on(get_key_value& r);
  void on(increment_key_value& r);
  void on(get_key_value_dir& r);
  void on(delete_key_value& r);
  void on(enter_barrier& r);
  void on(cancel_barrier& r);
  void on(get_alive_tasks& r);

  // standalone_service.cpp
  void begin(time_point now, effects& fx);
  bool refused(caller const& from);
  void refuse_stopped(request const& r);
  parked_call waiting(wait_kind kind, caller const& from, task_index task) const;
  void park(caller const& from, parked_call p);
  void answer(call_id call, fault_ptr f);
  template <class Body>
  void answer(call_id call, Body body) {
    fx_->replies.push_back({call, nullptr, std::move(body)});
  }
  void refuse(caller const& from, muster::code c, std::string message, bool coordination = true);
  void tell(severity s, std::string kind, std::string subject, std::string text);
  void answer_early(call_id call);
  void withdraw(call_id call, parked_call const& p);

  // standalone_tasks.cpp
  void connect(task_index t, core::incarnation incarnation);
  void reconnect(register_task const& r);
  void refuse_registration(register_task const& r, std::string why);
  void disconnect(std::vector<task_index> const& leavers, bool quietly = false);
  void leave(caller const& from, task_index t);
  void cancel_poll(task_index t, std::string_view why);
  void check_heartbeats();
  bool recoverable(task_index t) const { return spec_.recoverable || roll_[t].recoverable; }
  bool all_left() const;

  // standalone_errors.cpp
  fault_ptr about(task_index t, muster::code c, std::string message, bool reported = false) const;
  bool mark_error(task_index t, fault_ptr const& f);
  void fail_tasks(std::vector<task_error> const& errors, fault_ptr const& told);
  void set_all_errors(std::string const& message);
  void fail_generation(fault_ptr const& f);
  void broadcast(fault_ptr const& f);
  void blame(task_index t, std::string const& message);
  std::string with_cause(std::string message) const;

  // standalone_barriers.cpp
  /// One call that enters a barrier, whatever its purpose.
  struct entry {
    caller from;
    std::string const* id;
    std::int64_t counter;
    duration timeout;
    task_index task;
    std::string task_name;                    // as asked for, when the cluster has no such task
    std::shared_ptr<participants const> who;  // null: the whole cluster
    std::string stranger;                     // a participant that the cluster does not have
    barrier_purpose purpose;
    core::incarnation incarnation{};
  };
  void enter(entry e);
  barrier_type* instance_for(entry const& e);
  barrier_type& start_barrier(entry const& e, std::int64_t counter);
  std::string misuse(barrier_type const& b, entry const& e) const;
  void mismatch(barrier_type& b, entry const& e);
  void arrive(barrier_type& b, entry const& e);
  std::shared_ptr<participants const> kept(std::shared_ptr<participants const> who);
  void supersede(barrier_type& b, call_id call);
  void step_out(barrier_type& b, task_index t);
  bool own(std::string_view id) const;
  void schedule(barrier_type& b);
  fault_ptr hopeless(barrier_type const& b, entry const& e) const;
  void end_barrier(barrier_type& b, fault_ptr f);
  void answer_barrier(barrier_type const& b, call_id call);
  void after_barrier(barrier_type const& b,
                     std::vector<std::pair<task_index, core::incarnation>> const& waited);
  fault_ptr shutdown_fault(barrier_type const& b) const;
  void barrier_due(barrier_type& b);
  void blame_missing(barrier_type const& b);
  void leave_barriers(std::vector<task_error> const& leavers);
  void enter_shutdown(caller const& from, task_index t);
  fault_ptr barrier_fault(barrier_type const& b, muster::code c, std::string message) const;
  std::string shutdown_id() const;
  std::string devices_id() const;
  /// Higher ones are nobody's count, and one more must not leave 64 bits.
  static constexpr std::int64_t counter_max = std::int64_t{1} << 62;

  // standalone_key_values.cpp
  void wake(std::string const& key);

  // standalone_groups.cpp
  void changed();
  task_status status_of(task_index t) const;
  std::shared_ptr<task_states const> snapshot(std::size_t job);
  void flush_watches();
  void check_alive(alive_wait& w);
  void check_all_alive();
  void forget_asked(task_index t);
  static constexpr auto registration_id = "[Init]Wait_for_all_tasks_to_register";

  // standalone_texts.cpp
  static constexpr std::size_t id_shown = 200;  // bytes of a barrier's id in a text
  static std::string cut(std::string_view message, std::size_t details_bytes = 0);
  std::string task_name(task_index t) const { return spec_.task_name(t); }
  std::string described(task_index t) const;
  std::string const& missing_text(barrier_type& b);
  std::string const& absent_text();
  std::string early_text(parked_call const& p);

  // standalone_views.cpp
  /// By task: the barrier it is late for, or null.
  using late_for = std::vector<barrier_type const*>;
  late_for late_tasks(time_point now) const;
  agent_health health_of(task_index t, late_for const& late, time_point now) const;
  agent_view agent_of(task_index t, late_for const& late, time_point now) const;
  void add_waits(std::vector<agent_view>& views, std::size_t after) const;
  barrier_view barrier_of(barrier_type const& b, bool with_tasks) const;
  std::string broken_barrier(barrier_type const& b) const;
  std::string broken_parking() const;

  cluster_spec const spec_;
  limits const limits_;
  generation const generation_;
  std::shared_ptr<participants const> const everybody_;

  roll roll_;
  barrier_table barriers_;
  key_value_store store_;
  coordination::parked_calls parked_;
  std::vector<std::shared_ptr<participants const>> sets_;  // of participants, used last
  std::set<call_id> watchers_;
  std::map<std::vector<task_index>, alive_wait> alive_;

  std::int64_t version_ = 0;
  // By job, then of all; each null or of some version.
  std::vector<std::shared_ptr<task_states const>> snapshots_;
  time_point snapshot_at_{};
  time_point watch_due_ = never;
  std::string absent_;  // who is not connected, in words
  std::int64_t absent_version_ = -1;
  time_point next_check_{};  // heartbeats are not looked at more often than this
  std::shared_ptr<std::vector<blob> const> devices_;

  bool stopped_ = false;
  bool polled_ = false;  // somebody has polled for errors
  fault_ptr broadcast_;  // what everybody was told; the generation has failed
  bool failed_ = false;
  std::optional<first_cause> cause_;
  task_index cause_task_ = no_task;
  std::set<task_index> victims_;  // failed at the same moment as the first cause
  time_point started_{};
  time_point ended_{};
  std::size_t connected_ = 0;
  std::size_t in_error_ = 0;
  std::size_t ever_connected_ = 0;

  time_point now_;
  effects* fx_ = nullptr;        // of the step that is running
  std::size_t broken_told_ = 0;  // barriers that it broke
};

}  // namespace muster::core::coordination
