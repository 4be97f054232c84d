// Which closures run alone: those that have lost worker after worker, until one of these turns out
// to live.
#include "server/core/moves/closure_life.hpp"

namespace muster::core {

void closure_life::count_lost_worker(slot c, std::string const& worker) {
  auto& r = closures_[c];
  auto& d = r.with_details();
  if (++d.workers_lost < alone_after || r.alone) return;
  r.alone = true;
  d.alone_since = step_.now;
  auto const id = closures_.id_of(c);
  scheduler_.lone.add(id, step_.now);
  auto const& called = book_.functions[r.function].name;
  step_.fx.remarks.push_back({remark_kind::closure_alone, text(id),
                              called + " has lost " + std::to_string(d.workers_lost) +
                                  " workers, the last was " + worker +
                                  "; from now on it runs alone on its worker"});
  if (auto const& s = sessions_.of(r.owner); s.streaming())
    step_.fx.notices.push_back({s.id,
                                notice_kind::suspect,
                                s.generation,
                                {failure_kind::worker_lost, called, {}, {}, worker, d.workers_lost},
                                id});
}

void closure_life::forgive_lost_worker(slot c) {
  auto& r = closures_[c];
  if (r.worker_failures > 0 && r.worker_failures < worker_failures_max) --r.worker_failures;
  if (!r.details || r.details->workers_lost == 0) return;
  if (--r.details->workers_lost >= alone_after || !r.alone) return;
  bool const waited = r.ganged;
  if (waited) {
    scheduler_.end_lone_wait(c, step_.now);
    book_.end_deferral(c);
  }
  stop_being_alone(c);
  if (waited) scheduler_.push_front(c);
}

void closure_life::stop_being_alone(slot c) {
  scheduler_.not_alone(c);
  closures_[c].alone = false;
}

}  // namespace muster::core
