#include "server/core/coordination/transitions/barrier_callers.hpp"

namespace muster::core::coordination {

barrier_callers::barrier_callers(step_frame& step, task_registry& registry, barrier_table& barriers,
                                 barrier_faults& faults, generation_record& record)
    : step_(step),
      registry_(registry),
      barriers_(barriers),
      faults_(faults),
      record_(record),
      devices_(registry.size()) {}

bool barrier_callers::wait(barrier const& b, caller const& from, arrival const& a,
                           core::incarnation i) {
  step_.park(from, wait_kind::barrier, a.task, raw(b.number));
  if (b.purpose == barrier_purpose::registration) registry_.await(a.task, i);
  return barriers_.arrive(b.number, a, from.call, step_.now);
}

void barrier_callers::supersede(barrier const& b, task_index t) {
  auto const call = b.call_of(t);
  step_.calls.take(call);
  step_out(b, t, barrier_move::superseded);
  if (b.purpose == barrier_purpose::registration)
    return step_.answer(call, task_fault(t, code::already_exists,
                                         "Aborted connect attempt as there is a request from a "
                                         "newer incarnation."));
  step_.refuse({.call = call}, code::cancelled,
               "Cancelled because there's a more recent barrier call for " + faults_.shown(b.id) +
                   " by " + step_.task_name(t),
               false);
}

void barrier_callers::step_out(barrier const& b, task_index t, barrier_move how) {
  barriers_.step_out(b.number, t, how, step_.now);
  if (b.purpose == barrier_purpose::registration) registry_.await(t, {});
}

void barrier_callers::withdraw(waiting_call const& w) {
  step_out(barriers_.at(w.barrier()), w.task, barrier_move::withdrawn);
  barriers_.undo_if_void(w.barrier(), step_.now);
}

barrier_verdict barrier_callers::leave(barrier_number n, leavers const& gone) {
  auto const* b = barriers_.find(n);
  if (!b || !b->running) return {};
  if (auto const* l = gone.only()) return b->has(l->task) ? leave(*b, *l) : barrier_verdict{};
  for (auto const t : *b->who)
    if (auto const* l = gone.find(t))
      if (auto v = leave(*b, *l); v.fault) return v;
  return {};
}

barrier_verdict barrier_callers::leave(barrier const& b, task_error const& l) {
  if (!registry_[l.task].recoverable)
    return {l.error ? barrier_outcome::task_failed : barrier_outcome::task_left,
            faults_.broken_by(b, l), l.task};
  auto const call = b.call_of(l.task);
  if (call == call_id{}) return {};
  step_.calls.take(call);
  step_out(b, l.task, barrier_move::task_gone);
  step_.refuse({.call = call}, code::cancelled,
               "Stale barrier invocation is cancelled because: " + l.why(step_.task_name(l.task)),
               false);
  return {};
}

barrier_end barrier_callers::end(barrier_number n, barrier_verdict v) {
  auto e = barriers_.end(n, std::move(v), step_.now);
  for (auto const& w : e.waiters) step_.calls.take(w.call);
  if (e.purpose == barrier_purpose::devices && !e.result) devices_.gather(by_name());
  if (e.purpose == barrier_purpose::registration && e.result)
    for (auto const& w : e.waiters) registry_.await(w.task, {});
  if (!e.result || e.purpose != barrier_purpose::user || step_.stopped) return e;
  step_.report_incident(incidents::barrier_failed{e.instance.id, e.result});
  return e;
}

// Devices are ordered by role name.
std::vector<task_index> barrier_callers::by_name() const {
  auto order = *barriers_.everybody();
  auto const before = [&spec = step_.spec](task_index l, task_index r) {
    auto const [lj, li] = spec.place(l);
    auto const [rj, ri] = spec.place(r);
    return std::tie(spec.jobs[lj].name, li) < std::tie(spec.jobs[rj].name, ri);
  };
  std::sort(order.begin(), order.end(), before);
  return order;
}

void barrier_callers::answer(barrier_end const& e) {
  for (auto const& w : e.waiters) answer(e, w.call);
}

void barrier_callers::answer(barrier_end const& e, call_id call) {
  if (e.result) return step_.answer(call, told(e));
  switch (e.purpose) {
    case barrier_purpose::registration:
      return step_.answer(call, step_.which.incarnation);
    case barrier_purpose::shutdown:
      return step_.answer(call, std::monostate{});
    case barrier_purpose::devices:
      return step_.answer(call, devices_.gathered());
    case barrier_purpose::user:
      return step_.answer(call, e.instance.counter);
  }
}

fault_ptr barrier_callers::told(barrier_end const& e) const {
  return e.purpose == barrier_purpose::shutdown ? faults_.shutdown_failed(e.result) : e.result;
}

void barrier_callers::blame_missing(barrier const& b) {
  if (record_.failures().cause() || b.purpose == barrier_purpose::devices) return;
  for (std::size_t i = 0; i < b.who->size(); ++i)
    if (b.is_missing(i)) record_.add_victim((*b.who)[i]);
  auto const& victims = record_.failures().victims();
  if (victims.size() == 1)
    record_.blame(*victims.begin(), faults_.missing_task_message(b, *victims.begin()));
}

fault_ptr barrier_callers::bring(wait_for_all_tasks& r) {
  if (devices_.has(r.task.index)) return nullptr;
  std::size_t bytes = 0;
  for (auto const& d : r.devices) bytes += d.size();
  if (auto const most = step_.limits.device_bytes_max; bytes > most)
    return refusal(code::resource_exhausted, longer_than("device_info", bytes, most));
  devices_.bring(r.task.index, std::move(r.devices), std::move(r.names), step_.limits);
  step_.changes.note(devices_brought{r.task.index, devices_.count(r.task.index)});
  return nullptr;
}

}  // namespace muster::core::coordination
