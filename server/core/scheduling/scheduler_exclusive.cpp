#include "server/core/scheduling/scheduler.hpp"

namespace muster::core {

bool scheduler::could_run(worker_slots const& w, closure_queue const& l) const {
  if (!w.open || !w.placed || !w.placed->has_function(l.function)) return false;
  if (l.requirement == 0) return !w.by_name_only;
  auto const& needs = requirements_[l.requirement];
  return satisfies(w, needs.besides_resources()) && enough(w.resources, needs);
}

worker_slots* scheduler::empty_worker_for(slot c) {
  auto const& l = queue_of(c);
  if (closures_.id_of(c) == exclusives.keeps.by) {
    auto* w = find(exclusives.keeps.worker);
    if (!w || !could_run(*w, l)) w = keep_one_empty_for(c);
    if (w && w->held() == 0 && w->placed->can_run(l)) return w;
  }
  return empty_worker(l);
}

// Selects the worker whose oldest closure started last. If closures are short, this worker is soon
// empty.
worker_slots* scheduler::keep_one_empty_for(slot c) {
  release_reserved_worker();
  auto const& l = queue_of(c);
  auto const started = [this](worker_slots const& w) {
    return w.running.size == 0 ? never : closures_[w.running.front].started;
  };
  worker_slots* best = nullptr;
  for (auto const& [stream, owned] : workers_) {
    auto& w = *owned;
    if (!could_run(w, l)) continue;
    if (best &&
        (started(w) < started(*best) || (started(w) == started(*best) && w.stream > best->stream)))
      continue;
    best = &w;
  }
  if (!best) return nullptr;
  exclusives.keeps = {closures_.id_of(c), best->stream};
  best->shut |= worker_slots::reserved_for_exclusive;
  update(*best);
  return best;
}

void scheduler::release_reserved_worker() {
  if (auto* w = find(std::exchange(exclusives.keeps, {}).worker)) {
    w->shut &= static_cast<std::uint8_t>(~worker_slots::reserved_for_exclusive);
    update(*w);
  }
}

void scheduler::wait_exclusive(slot c, time_point now) {
  defer(c);
  exclusives.wait(closures_.id_of(c), now);
}

void scheduler::end_exclusive_wait(slot c, time_point now) {
  auto const id = closures_.id_of(c);
  if (exclusives.keeps.by == id) release_reserved_worker();
  end_deferral(c);
  exclusives.started(id, now);
}

void scheduler::not_exclusive(slot c) {
  auto const& r = closures_[c];
  exclusives.erase(closures_.id_of(c), r.details->exclusive_since);
  if (r.worker == worker_number{}) return;
  auto& w = of(r.worker);
  w.shut &= static_cast<std::uint8_t>(~worker_slots::runs_exclusive);
  update(w);
}

std::string scheduler::invalid_exclusive(bool handing_out) const {
  std::string wrong;
  std::size_t exclusive = 0;
  closures_.for_each([&](slot c, closure_record const& r) {
    auto const id = closures_.id_of(c);
    if (exclusives.waits(id) != (r.exclusive && r.is(closure_phase::gathering)))
      wrong =
          text(id) + ": the list of waiting exclusive closures does not match the closure's state";
    if (!r.exclusive) return;
    ++exclusive;
    if (ended(r.state())) wrong = text(id) + " has ended but is still marked as exclusive";
    if (!exclusives.all().contains({r.details->exclusive_since, id}))
      wrong = text(id) + " is exclusive but not listed as exclusive";
  });
  if (exclusive != exclusives.all().size())
    return "the list of exclusive closures does not match the closures";
  for (auto const& [stream, w] : workers_) {
    auto const name = w->job + ":" + std::to_string(w->index);
    std::uint32_t exclusive_ones = 0;
    for (auto const* held : {&w->running, &w->prefetched})
      for (slot c = held->front; c != no_slot; c = closures_[c].next)
        exclusive_ones += closures_[c].exclusive;
    if ((exclusive_ones > 0) != ((w->shut & worker_slots::runs_exclusive) != 0) ||
        (exclusive_ones > 0 && w->held() > 1))
      return name +
             " runs other closures next to an exclusive closure, or is wrongly marked as running "
             "one";
    if (((w->shut & worker_slots::reserved_for_exclusive) != 0) !=
        (exclusives.keeps.worker == stream))
      return name + ": its reservation for an exclusive closure is inconsistent";
  }
  if (handing_out && exclusives.waiting().size() <= exclusive_table::tries_max)
    for (auto const id : exclusives.waiting())
      if (empty_worker(queue_of(closures_.find(id))))
        return text(id) + " is waiting although an idle worker could run it";
  return wrong.empty() ? exclusives.invalid() : wrong;
}

}  // namespace muster::core
