// Workers for closures that run alone: one that does nothing, or the one that is kept empty.
#include "server/core/scheduling/scheduler.hpp"

namespace muster::core {

// Whether it could once it does nothing else.
bool scheduler::could_run(seat const& w, lane const& l) const {
  if (!w.open || !w.placed || !w.placed->has_function(l.function)) return false;
  if (l.requirement == 0) return !w.by_name_only;
  auto const& needs = requirements_[l.requirement];
  return satisfies(w, needs.besides_resources()) && enough(w.resources, needs);
}

seat* scheduler::empty_worker_for(slot c) {
  auto const& l = lane_of(c);
  if (closures_.id_of(c) == lone.keeps.by) {
    auto* w = find(lone.keeps.worker);
    if (!w || !could_run(*w, l)) w = keep_one_empty_for(c);
    if (w && w->held() == 0 && w->placed->can_run(l)) return w;
  }
  return placement_.empty_worker(l);
}

// The one whose oldest closure started last: where closures are short, it is empty soon.
seat* scheduler::keep_one_empty_for(slot c) {
  keep_none_empty();
  auto const& l = lane_of(c);
  auto const started = [this](seat const& w) {
    return w.running.size == 0 ? never : closures_[w.running.front].started;
  };
  seat* best = nullptr;
  for (auto const& [stream, owned] : seats_) {
    auto& w = *owned;
    if (!could_run(w, l)) continue;
    if (best &&
        (started(w) < started(*best) || (started(w) == started(*best) && w.stream > best->stream)))
      continue;
    best = &w;
  }
  if (!best) return nullptr;
  lone.keeps = {closures_.id_of(c), best->stream};
  best->shut |= seat::for_lone;
  update(*best);
  return best;
}

void scheduler::keep_none_empty() {
  if (auto* w = find(std::exchange(lone.keeps, {}).worker)) {
    w->shut &= static_cast<std::uint8_t>(~seat::for_lone);
    update(*w);
  }
}

void scheduler::wait_alone(slot c, time_point now) {
  defer(c);
  lone.wait(closures_.id_of(c), now);
}

void scheduler::end_lone_wait(slot c, time_point now) {
  auto const id = closures_.id_of(c);
  if (lone.keeps.by == id) keep_none_empty();
  end_deferral(c);
  lone.started(id, now);
}

void scheduler::not_alone(slot c) {
  auto const& r = closures_[c];
  lone.erase(closures_.id_of(c), r.details->alone_since);
  if (r.worker == worker_number{}) return;
  auto& w = of(r.worker);
  w.shut &= static_cast<std::uint8_t>(~seat::by_lone);
  update(w);
}

std::string scheduler::invalid_lone(bool handing_out) const {
  std::string wrong;
  std::size_t alone = 0;
  closures_.for_each([&](slot c, closure_record const& r) {
    auto const id = closures_.id_of(c);
    if (lone.waits(id) != (r.alone && r.is(closure_phase::gathering)))
      wrong = text(id) + " waits alone unasked";
    if (!r.alone) return;
    ++alone;
    if (ended(r.state())) wrong = text(id) + " has ended and is to run alone";
    if (!lone.all().contains({r.details->alone_since, id})) wrong = text(id) + " is not listed";
  });
  if (alone != lone.all().size()) return "closures that run alone are listed wrongly";
  for (auto const& [stream, w] : seats_) {
    auto const name = w->job + ":" + std::to_string(w->index);
    std::uint32_t lone_ones = 0;
    for (auto const* held : {&w->running, &w->ahead})
      for (slot c = held->front; c != no_slot; c = closures_[c].next)
        lone_ones += closures_[c].alone;
    if ((lone_ones > 0) != ((w->shut & seat::by_lone) != 0) || (lone_ones > 0 && w->held() > 1))
      return name + " runs something beside a closure that runs alone";
    if (((w->shut & seat::for_lone) != 0) != (lone.keeps.worker == stream))
      return name + " is kept empty and nobody knows for whom";
  }
  if (handing_out && lone.waiting().size() <= lone_table::tries_max)
    for (auto const id : lone.waiting())
      if (placement_.empty_worker(lane_of(closures_.find(id))))
        return text(id) + " waits beside a worker that does nothing";
  return wrong.empty() ? lone.invalid() : wrong;
}

}  // namespace muster::core
