#include "server/core/coordination/transitions/shutdown.hpp"

namespace muster::core::coordination {

void shutdown::on(shutdown_task& r) {
  auto const t = r.task.index;
  if (t != no_task && step_.spec.shutdown_timeout > duration::zero() && !registry_[t].recoverable)
    return enter(r.from, t);
  leave(r.from, r.task, left_why::left);
}

void shutdown::enter(caller const& from, task_index t) {
  auto const* b = table_.find(step_.own.shutdown);
  // A disconnected task must not start the time within which the other tasks must leave.
  if ((!b || b->running) && registry_[t].state == agent_state::disconnected)
    return leave(from, {t, {}}, left_why::left);
  auto who = b ? b->who : nullptr;
  if (!b) {
    auto steady = std::make_shared<participants>();
    for (task_index i = 0; i < registry_.size(); ++i)
      if (!registry_[i].recoverable) steady->push_back(i);
    who = std::move(steady);
  }
  // The other tasks have already left, so a late task leaves immediately.
  if (b && !b->running && !b->result && b->has(t)) propagation_.leave({t}, left_why::left);
  barriers_.enter(from,
                  {.id = step_.own.shutdown,
                   .timeout = step_.spec.shutdown_timeout,
                   .task = t,
                   .who = std::move(who),
                   .purpose = barrier_purpose::shutdown},
                  {t, {}});
}

void shutdown::leave(caller const& from, task_ref const& who, left_why why) {
  auto const t = who.index;
  if (t == no_task)
    return step_.refuse(from, code::invalid_argument,
                        "Unexpected disconnect request with task=" + who.name);
  if (registry_[t].state == agent_state::disconnected)
    return step_.refuse(from, code::failed_precondition,
                        "The task is already disconnected: " + step_.task_name(t));
  propagation_.leave({t}, why);
  step_.answer(from.call, std::monostate{});
}

}  // namespace muster::core::coordination
