// Which closures run alone: those that have lost worker after worker, until one of these turns out
// to live.
#include "server/core/transitions/lifecycle/lifecycle.hpp"

namespace muster::core {

void lifecycle::count_lost_worker(slot c, std::string const& worker) {
  auto& r = core_.closures[c];
  auto& d = r.with_details();
  if (++d.workers_lost < exclusive_after || r.exclusive) return;
  r.exclusive = true;
  d.exclusive_since = core_.step.now;
  auto const id = core_.closures.id_of(c);
  core_.scheduler.exclusives.add(id, core_.step.now);
  auto const& called = core_.book.functions[r.function].name;
  core_.step.tell(incidents::closure_exclusive{id, called, d.workers_lost, worker});
  if (auto const& s = core_.sessions.of(r.owner); s.traits().generations)
    core_.step.fx.notices.push_back(
        {s.id,
         notice_kind::suspect,
         s.generation,
         {failure_kind::worker_lost, called, {}, {}, worker, d.workers_lost},
         id});
}

void lifecycle::forgive_lost_worker(slot c) {
  auto& r = core_.closures[c];
  if (r.worker_failures > 0 && r.worker_failures < worker_failures_max) --r.worker_failures;
  if (!r.details || r.details->workers_lost == 0) return;
  if (--r.details->workers_lost >= exclusive_after || !r.exclusive) return;
  bool const waited = r.is(closure_phase::gathering);
  if (waited) {
    core_.scheduler.end_exclusive_wait(c, core_.step.now);
    core_.book.end_deferral(c);
  }
  stop_being_exclusive(c);
  if (waited) core_.scheduler.push_front(c);
}

void lifecycle::stop_being_exclusive(slot c) {
  core_.scheduler.not_exclusive(c);
  core_.closures[c].exclusive = false;
}

}  // namespace muster::core
