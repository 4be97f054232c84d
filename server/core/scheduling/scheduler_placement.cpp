// Each turn selects one session and one worker. The worker receives one closure for an idle slot,
// or prefetches up to `run_max` closures. The worker then moves to the back of its ring; a session
// of weight n moves after n turns. Sessions thus share fairly, workers fill evenly, and the cost
// per closure does not depend on the number of sessions and workers.
#include <algorithm>

#include "server/core/scheduling/scheduler.hpp"

namespace muster::core {
namespace {

constexpr std::uint32_t run_max = 64;

}  // namespace

void scheduler::enter(worker_slots& w, class_key key) {
  auto const known = classes_.find(key);
  auto& c = known == classes_.end() ? make_class(std::move(key)) : *known->second;
  w.placed = &c;
  ++c.workers;
  update(w);
}

placement_class& scheduler::make_class(class_key key) {
  std::uint32_t index = next_index_;
  if (free_indexes_.empty()) {
    ++next_index_;
  } else {
    index = free_indexes_.back();
    free_indexes_.pop_back();
  }
  auto& c = *classes_.emplace(key, std::make_unique<placement_class>(index)).first->second;
  std::tie(c.functions, c.satisfied, c.by_name_only) = std::move(key);
  if (!c.functions.empty()) c.has.resize(raw(c.functions.back()) + std::size_t{1});
  for (auto const f : c.functions) c.has[raw(f)] = true;
  if (!c.satisfied.empty()) c.meets.resize(c.satisfied.back() + std::size_t{1});
  for (auto const r : c.satisfied) c.meets[r] = true;
  if (c.has.size() > classes_of_.size()) classes_of_.resize(c.has.size());
  for (auto const f : c.functions) classes_of_[raw(f)].push_back(&c);
  for (auto const& [id, n] : in_order_) announce(queues_[n], c);
  return c;
}

void scheduler::remove(worker_slots& w) {
  auto& c = *w.placed;
  if (w.ready == readiness::idle) c.idle.remove(w), --idle_workers_;
  if (w.ready == readiness::prefetch) c.prefetching.remove(w);
  w.ready = readiness::none;
  w.placed = nullptr;
  if (--c.workers > 0) return;

  while (!c.sessions.empty()) c.sessions.remove(c.sessions.front());
  for (auto const f : c.functions) std::erase(classes_of_[raw(f)], &c);
  std::erase(dirty_, &c);
  free_indexes_.push_back(c.index);
  classes_.erase(class_key(c.functions, c.satisfied, c.by_name_only));
}

void scheduler::move_to_ring(worker_slots& w, readiness wanted) {
  auto& c = *w.placed;
  if (w.ready == readiness::idle) c.idle.remove(w), --idle_workers_;
  if (w.ready == readiness::prefetch) c.prefetching.remove(w);
  w.ready = wanted;
  if (wanted == readiness::none) return;
  idle_workers_ += wanted == readiness::idle;
  (wanted == readiness::idle ? c.idle : c.prefetching).push_back(w);
  mark(c);
}

void scheduler::mark(placement_class& c) {
  if (c.dirty || c.sessions.empty() || (c.idle.empty() && c.prefetching.empty())) return;
  c.dirty = true;
  dirty_.push_back(&c);
}

void scheduler::announce(session_queue& s, placement_class& c) {
  if (c.sessions.contains(s)) return;
  auto const runnable = [&](closure_queue const& l) { return l.queue.size > 0 && c.can_run(l); };
  if (std::none_of(s.queues.begin(), s.queues.end(), runnable)) return;
  c.sessions.push_back(s);
  mark(c);
}

void scheduler::announce(session_queue& s, closure_queue const& l) {
  if (raw(l.function) >= classes_of_.size()) return;
  for (auto* c : classes_of_[raw(l.function)]) {
    if (!c->can_run(l)) continue;
    if (!c->sessions.contains(s)) c->sessions.push_back(s);
    mark(*c);
  }
}

void scheduler::push_front(slot c) {
  auto& s = queues_[closures_[c].owner];
  auto& l = s.queues[closures_[c].queue];
  closures_.push_front(l.queue, c);
  if (l.queue.size == 1) announce(s, l);
}

void scheduler::end_turns(session_number n) {
  auto& s = queues_[n];
  for (auto const& [key, c] : classes_)
    if (c->index < s.turns.size()) c->sessions.remove(s);
}

void scheduler::take(session_queue& s, placement_class const& c, std::uint32_t max,
                     std::vector<slot>& run) {
  // Compares by distance, because orders can wrap around in a long session.
  auto const before = [](std::uint32_t a, std::uint32_t b) {
    return static_cast<std::int32_t>(a - b) < 0;
  };
  auto const ahead_of = [&](closure_queue const& a, closure_queue const& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return before(closures_[a.queue.front].order, closures_[b.queue.front].order);
  };
  while (run.size() < max) {
    closure_queue* first = nullptr;
    closure_queue* second = nullptr;
    for (auto& l : s.queues) {
      if (l.queue.size == 0 || !c.can_run(l)) continue;
      if (!first || ahead_of(l, *first)) {
        second = first;
        first = &l;
      } else if (!second || ahead_of(l, *second)) {
        second = &l;
      }
    }
    if (!first || (first->single && !run.empty())) return;
    max = first->single ? 1 : max;
    do {
      slot const taken = first->queue.front;
      closures_.remove(first->queue, taken);
      run.push_back(taken);
    } while (run.size() < max && first->queue.size > 0 && (!second || ahead_of(*first, *second)));
  }
}

worker_slots* scheduler::next(std::vector<slot>& run) {
  run.clear();
  while (!dirty_.empty()) {
    auto& c = *dirty_.back();
    while (!c.sessions.empty() && !(c.idle.empty() && c.prefetching.empty())) {
      bool const idle = !c.idle.empty();
      worker_slots& w = idle ? c.idle.front() : c.prefetching.front();
      session_queue& s = c.sessions.front();
      take(s, c, idle ? 1 : std::min(run_max, w.window - w.held()), run);
      if (run.empty()) {
        c.sessions.remove(s);
        continue;
      }
      if (s.turns_left <= 1) {
        s.turns_left = s.weight;
        c.sessions.rotate();
      } else {
        --s.turns_left;
      }
      (idle ? c.idle : c.prefetching).rotate();
      return &w;
    }
    c.dirty = false;
    dirty_.pop_back();
  }
  return nullptr;
}

worker_slots* scheduler::empty_worker(closure_queue const& l) const {
  if (raw(l.function) >= classes_of_.size()) return nullptr;
  for (auto const* c : classes_of_[raw(l.function)])
    if (c->can_run(l))
      if (worker_slots* w = c->idle.find([](worker_slots const& at) { return at.held() == 0; }))
        return w;
  return nullptr;
}

std::string scheduler::invalid_classes() const {
  for (auto const& [key, c] : classes_) {
    if (c->workers == 0) return "a placement class without workers is still stored";
    if (c->dirty != (std::find(dirty_.begin(), dirty_.end(), c.get()) != dirty_.end()))
      return "a placement class is marked as dirty but not listed, or the reverse";
    if (!c->dirty && !c->sessions.empty() && !(c->idle.empty() && c->prefetching.empty()))
      return "a placement class has queued work and free workers but is not marked as dirty";
  }
  return {};
}

}  // namespace muster::core
