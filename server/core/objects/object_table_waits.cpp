#include <algorithm>
#include <map>
#include <utility>

#include "server/core/objects/object_table.hpp"

namespace muster::core::objects {

void object_table::waits(stream_id stream, call_name const& within, call_name const& inner) {
  auto* const outer = calls_.find(within);
  auto const* const awaited = calls_.find(inner);
  if (!outer || outer->answered || !awaited || awaited->answered) return;
  auto const* const at = book_.find(outer->object);
  if (!at || book_.of({at->spec.job, at->spec.index}).stream != stream) return;
  auto& all = outer->waits_for;
  if (std::find(all.begin(), all.end(), inner) != all.end()) return;
  if (all.size() < limits_.waits_max) all.push_back(inner);
  if (can_end(inner)) return;
  auto const told = [this](call_name const& n) {
    auto const* c = calls_.find(n);
    auto const* o = book_.find(c->object);
    return (!o || o->spec.name.empty() ? text(c->object) : o->spec.name) + "." + c->method;
  };
  fail(inner, because(failure_reason::call_circle,
                      {failure_kind::input, "muster.CycleError",
                       told(within) + " is waiting for " + told(inner) +
                           ", which is waiting for the first call: neither can finish",
                       "", "", 0}));
}

// An executing call can finish unless it waits for a call that cannot finish. A queued call can
// start if any executing call can finish. Calls that cannot finish are in a cycle. Very large
// cycles are not detected.
bool object_table::can_end(call_name const& start) const {
  constexpr std::size_t examined_max = 2'000;
  struct node {
    std::vector<call_name> all;  // the call can finish if all of these calls can finish
    std::vector<call_name> any;  // the call can start if any of these calls can finish
    bool ends = false;
  };
  std::map<call_name, node> seen;
  std::vector<call_name> todo{start};
  while (!todo.empty()) {
    auto const n = todo.back();
    todo.pop_back();
    if (!seen.try_emplace(n).second) continue;
    if (seen.size() + todo.size() > examined_max) return true;
    auto const* c = calls_.find(n);
    auto const* o = c && !c->answered ? book_.find(c->object) : nullptr;
    auto& made = seen[n];
    if (!o) {
      made.ends = true;
      continue;
    }
    bool executed = false;
    for (std::size_t i = 0, running = 0; i < o->queue.size() && running < o->spec.concurrency;
         ++i) {
      auto const* other = calls_.find(o->queue[i]);
      if (!other || other->answered) continue;
      ++running;
      made.any.push_back(o->queue[i]);
      executed = executed || o->queue[i] == n;
    }
    if (executed) {
      made.any.clear();
      made.all = c->waits_for;
    }
    todo.insert(todo.end(), made.all.begin(), made.all.end());
    todo.insert(todo.end(), made.any.begin(), made.any.end());
  }
  auto const ends = [&](call_name const& n) { return seen[n].ends; };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [n, at] : seen) {
      if (at.ends) continue;
      at.ends = at.any.empty() ? std::all_of(at.all.begin(), at.all.end(), ends)
                               : std::any_of(at.any.begin(), at.any.end(), ends);
      changed = changed || at.ends;
    }
  }
  return seen[start].ends;
}

}  // namespace muster::core::objects
