#include <algorithm>

#include "base/check.hpp"
#include "server/core/scheduling/scheduler.hpp"

namespace muster::core {

namespace {
/// Maximum number of prefetched closures examined per worker, oldest first. Later closures are not
/// retracted.
constexpr std::uint32_t examined_max = 1'024;
}  // namespace

void scheduler::start(worker_slots& w, slot c, bool reported) {
  closures_.remove(w.prefetched, c);
  // Reported closures come first, so that the newest unreported closure is found quickly.
  if (reported)
    closures_.push_front(w.running, c);
  else
    closures_.push_back(w.running, c);
}

slot scheduler::stop_one_unreported(worker_slots& w) {
  slot c = w.running.back;
  while (c != no_slot && closures_[c].reported) c = closures_[c].previous;
  if (c == no_slot) return no_slot;
  closures_.remove(w.running, c);
  closures_.push_front(w.prefetched, c);
  return c;
}

void scheduler::yield_slot(worker_slots& w, slot c) {
  check(w.may_yield(), "a worker must not get more slots than credits");
  closures_[c].waits = true;
  ++w.yielded, ++w.slots;
  w.window = std::min(w.window + 1, w.credits);
}

void scheduler::reclaim_slot(worker_slots& w, slot c) {
  closures_[c].waits = false;
  --w.yielded, --w.slots;
  w.window = std::max(w.window - 1, w.slots);
}

void scheduler::note_idle(time_point now) {
  noted_at_ = now;
  for_each_idle([](worker_slots& w) { w.idle_noted = true; });
}

std::vector<slot> scheduler::retract(session_number fixed) {
  auto const noted_at = std::exchange(noted_at_, never);
  std::vector<placement_class const*> takers;
  std::uint64_t idle_slots = 0, busy_slots = 0;
  for_each_idle([&](worker_slots& w) {
    if (!std::exchange(w.idle_noted, false)) return;
    idle_slots += w.slots - w.held();
    if (std::find(takers.begin(), takers.end(), w.placed) == takers.end())
      takers.push_back(w.placed);
  });
  std::vector<worker_slots*> givers;
  if (!takers.empty())
    for (auto const& [stream, w] : workers_)
      if (w->prefetched.size > 0) givers.push_back(w.get()), busy_slots += w->slots;
  std::sort(givers.begin(), givers.end(),
            [](worker_slots const* a, worker_slots const* b) { return a->stream < b->stream; });
  std::vector<slot> chosen;
  for (auto* w : givers) {
    bool stuck = true;
    for (slot c = w->running.front; c != no_slot && stuck; c = closures_[c].next)
      stuck = closures_[c].started <= noted_at;
    auto const share = stuck ? w->prefetched.size
                             : (w->prefetched.size * idle_slots + idle_slots + busy_slots - 1) /
                                   (idle_slots + busy_slots);
    auto const before = chosen.size();
    auto left = examined_max;
    for (slot c = w->prefetched.front; c != no_slot && chosen.size() - before < share && left > 0;
         c = closures_[c].next, --left) {
      if (closures_[c].retracted || closures_[c].owner == fixed) continue;
      auto const& l = queue_of(c);
      if (std::none_of(takers.begin(), takers.end(), [&](auto* t) { return t->can_run(l); }))
        continue;
      closures_[c].retracted = true;
      chosen.push_back(c);
    }
    if (chosen.size() == before) continue;
    auto const stays = w->held() - static_cast<std::uint32_t>(chosen.size() - before);
    w->window = std::max(w->slots, std::min(w->window, stays));
    update(*w);
  }
  return chosen;
}

}  // namespace muster::core
