// A task that has been lost for longer than recovery_timeout is given up. Closures that can run
// only on this task fail, including closures that are submitted later. The task's row is kept while
// a closure waits for the task, and for task_retention afterwards. After its removal, the task
// counts as not attached yet.
#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "server/core/transitions/workers/worker_events.hpp"

namespace muster::core {

void worker_events::sweep(duration pause) {
  auto const swept = core_.registry.tasks.sweep(core_.step.now, pause,
                                                [this](task_row const& t) { return awaited(t); });
  for (auto* t : swept.silent) remove_silent(*t);
  for (auto* t : swept.given_up) give_up(*t);
  if (swept.forgot) building_.forget_components();
}

bool worker_events::awaited(task_row const& t) {
  auto const only_there = [&](requirement const& r) {
    if (r.job == t.job && r.index == t.index) return true;
    return std::any_of(r.per_worker.begin(), r.per_worker.end(), [&](per_worker_id id) {
      auto const* v = core_.builds.find(id);
      return v && v->components.contains({t.job, t.index}) &&
             component_builds::has_lost_all_tasks(*v);
    });
  };
  bool waits = false;
  for (session_queue const& q : core_.scheduler.all_queues())
    waits = waits || std::any_of(q.queues.begin(), q.queues.end(), [&](closure_queue const& l) {
              return l.requirement != 0 && l.waits() &&
                     only_there(core_.scheduler.required(l.requirement));
            });
  return waits;
}

void worker_events::give_up(task_row& t) {
  core_.registry.tasks.give_up(t);
  auto const waited = life_.check_all_later();
  core_.step.report_incident(incidents::worker_given_up{t.name(), t.lost_since != never,
                                                        core_.step.now - t.since, t.error, waited});
}

}  // namespace muster::core
