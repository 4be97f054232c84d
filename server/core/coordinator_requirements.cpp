// What closures ask of their worker beside the function: a task, labels, resources,
// PerWorkerValues. A worker's place (its placement class) follows what it satisfies just now; see
// placement.hpp.
#include <algorithm>
#include <ranges>
#include <set>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {

/// Combinations of function, priority and requirement in one session. More: RESOURCE_EXHAUSTED.
constexpr std::size_t lanes_max = 4'096;
/// Of one closure. More: INVALID_ARGUMENT.
constexpr std::size_t labels_max = 64;
constexpr std::size_t resources_max = 64;
constexpr std::size_t per_worker_max = 64;
constexpr std::size_t name_bytes_max = 256;

status bad(std::string message) {
  return {code::invalid_argument, std::move(message)};
}

template <class T>
std::vector<T> sorted(std::vector<T> v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
  return v;
}

template <class Pairs>
auto amount_of(Pairs& pairs, std::string const& name) {
  return std::find_if(pairs.begin(), pairs.end(), [&](auto const& p) { return p.first == name; });
}

std::string valid_names(auto const& pairs, std::string const& what, std::size_t max) {
  if (pairs.size() > max)
    return "options." + what + ": " + std::to_string(pairs.size()) + " of them, the limit is " +
           std::to_string(max);
  for (auto const& [key, value] : pairs)
    if (key.empty() || key.size() > name_bytes_max)
      return "options." + what + ": a name has 1 to " + std::to_string(name_bytes_max) + " bytes";
  return {};
}

}  // namespace

status coordinator::state::valid_needs(closure_extras const& x, std::string const& at) const {
  auto const& o = x.options;
  if (o.task_job.size() > name_bytes_max || o.task_index < -1 ||
      (o.task_job.empty() && o.task_index != -1))
    return bad(at + "options.task: not the name of a task, such as worker:3, or of a job");
  if (auto why = valid_names(o.labels, "labels", labels_max); !why.empty()) return bad(at + why);
  if (auto why = valid_names(o.resources, "resources", resources_max); !why.empty())
    return bad(at + why);
  for (auto const& [name, amount] : o.resources)
    if (amount == 0) return bad(at + "options.resources: '" + name + "' is 0");
  if (x.per_worker.size() > per_worker_max)
    return bad(at + "args: name " + std::to_string(x.per_worker.size()) +
               " per-worker values, the limit is " + std::to_string(per_worker_max));
  for (auto const id : x.per_worker) {
    auto const* e = per_worker.find(id);
    if (!e || e->released) return {code::not_found, at + "args: " + unknown_per_worker(id).message};
  }
  return {};
}

requirement coordinator::state::needs_of(closure_extras const& x) {
  auto const& o = x.options;
  return {o.task_job, o.task_index, sorted(o.labels), sorted(o.resources), sorted(x.per_worker)};
}

status coordinator::state::room_for_needs(session const* s,
                                          std::vector<closure_spec> const& specs) const {
  std::set<std::tuple<function_id, std::int32_t, requirement>> lanes;
  std::set<requirement> fresh;
  closure_spec const* previous = nullptr;
  for (auto const& spec : specs) {
    if (!spec.extras) continue;
    if (previous && previous->extras == spec.extras && previous->function == spec.function)
      continue;
    previous = &spec;
    auto needs = needs_of(*spec.extras);
    if (!needs.empty() && !requirements.knows(needs)) fresh.insert(needs);
    lanes.emplace(spec.function, spec.extras->options.priority, std::move(needs));
  }
  if (requirements.size() + fresh.size() > requirement_table::max)
    return {code::resource_exhausted,
            "options: the server knows " + std::to_string(requirements.size()) +
                " different requirements of unforgotten jobs, its limit is " +
                std::to_string(requirement_table::max)};
  std::size_t added = lanes.size();
  if (s)
    for (auto const& [function, priority, needs] : lanes) {
      auto const same = [&](lane const& l) {
        return l.function == function && l.priority == priority &&
               (l.requirement == 0 ? needs.empty() : requirements[l.requirement] == needs);
      };
      if (lanes.size() + s->lanes.size() <= lanes_max) break;
      added -= std::any_of(s->lanes.begin(), s->lanes.end(), same);
    }
  if (added + (s ? s->lanes.size() : 0) <= lanes_max) return {};
  return {code::resource_exhausted,
          "options: more than " + std::to_string(lanes_max) +
              " combinations of function, priority and requirement in one job"};
}

std::uint32_t coordinator::state::lane_of(session& s, closure_spec const& spec) {
  if (!spec.extras) return s.lane_for(spec.function);
  std::uint32_t number = 0;
  if (auto needs = needs_of(*spec.extras); !needs.empty()) {
    auto const [known, added] = requirements.intern(std::move(needs));
    number = known;
    if (added) {
      requirements.hold(number);  // until its lane does
      for (auto const& [stream, w] : workers)
        if (satisfies(*w, requirements[number])) reconsider(*w);
      auto const at = s.lane_for(spec.function, spec.extras->options.priority, number);
      s.lanes[at].single = !requirements[number].resources.empty();
      return at;
    }
  }
  auto const before = s.lanes.size();
  auto const at = s.lane_for(spec.function, spec.extras->options.priority, number);
  if (s.lanes.size() > before && number != 0) {
    requirements.hold(number);
    s.lanes[at].single = !requirements[number].resources.empty();
  }
  return at;
}

void coordinator::state::release_requirements(session& s) {
  for (auto const& l : s.lanes) {
    if (l.requirement == 0 || !requirements.release(l.requirement)) continue;
    for (auto const& [stream, w] : workers)
      if (std::binary_search(w->satisfied.begin(), w->satisfied.end(), l.requirement))
        reconsider(*w);
  }
}

bool coordinator::state::satisfies(worker const& w, requirement const& r) const {
  auto const& t = *w.task;
  if (!r.job.empty() && (t.job != r.job || (r.index >= 0 && t.index != r.index))) return false;
  for (auto const& l : r.labels)
    if (std::find(t.spec.labels.begin(), t.spec.labels.end(), l) == t.spec.labels.end())
      return false;
  for (auto const& [name, amount] : r.resources) {
    auto const has = amount_of(w.free, name);
    if (has == w.free.end() || has->second < amount) return false;
  }
  for (auto const id : r.per_worker)
    if (!built_on(id, w)) return false;
  return true;
}

void coordinator::state::reconsider(worker& w) {
  std::vector<std::uint32_t> now_satisfied;
  requirements.for_each([&](std::uint32_t number, requirement const& r) {
    if (satisfies(w, r)) now_satisfied.push_back(number);
  });
  if (now_satisfied == w.satisfied) return;
  w.satisfied = std::move(now_satisfied);
  if (w.placed) placement.move(w, all_sessions());
}

// By and by less strict: the first demand that no worker with the function meets is named.
std::string coordinator::state::unmet(function_entry const& f, function_id id,
                                      requirement const& r) const {
  std::vector<worker const*> left;
  for (auto const& [stream, w] : workers)
    if (std::find(w->task->functions.begin(), w->task->functions.end(), id) !=
        w->task->functions.end())
      left.push_back(w.get());
  auto const keep = [&](auto holds) {
    auto const before = left.size();
    std::erase_if(left, [&](worker const* w) { return !holds(*w); });
    return before > 0 && left.empty() ? before : 0;
  };
  auto const none = [&](std::size_t of, std::string what) {
    return "of " + std::to_string(of) + (of == 1 ? " worker" : " workers") + " with '" + f.name +
           "' none " + std::move(what);
  };
  if (auto const of = keep([&](worker const& w) {
        return satisfies(w, {r.job, r.index, {}, {}, {}});
      }))
    return none(of, "is task " + r.job + (r.index < 0 ? "" : ":" + std::to_string(r.index)));
  for (auto const& l : r.labels)
    if (auto const of = keep([&](worker const& w) { return satisfies(w, {"", -1, {l}, {}, {}}); }))
      return none(of, "has the label " + l.first + "=" + l.second);
  for (auto const& [name, amount] : r.resources) {
    auto const wanted = name + "=" + std::to_string(amount);
    if (auto const of = keep([&](worker const& w) {
          auto const has = amount_of(w.task->spec.resources, name);
          return has != w.task->spec.resources.end() && has->second >= amount;
        }))
      return none(of, "has " + wanted);
    if (auto const of = keep([&](worker const& w) {
          return satisfies(w, {"", -1, {}, {{name, amount}}, {}});
        }))
      return none(of, "has " + wanted + " free");
  }
  for (auto const v : r.per_worker)
    if (auto const of = keep([&](worker const& w) { return built_on(v, w); }))
      return none(of, "has built " + text(v) + " yet");
  return {};
}

std::vector<std::reference_wrapper<session>> coordinator::state::all_sessions() {
  std::vector<std::reference_wrapper<session>> all;
  all.reserve(sessions.size() + 1);
  for (auto const& [id, s] : sessions) all.emplace_back(*s);
  all.emplace_back(rebuilders);
  return all;
}

bool coordinator::state::has_free(worker const& w, slot c) const {
  auto const& l = closures[c].owner->lanes[closures[c].lane];
  if (!l.single) return true;
  auto const& wanted = requirements[l.requirement].resources;
  return std::all_of(wanted.begin(), wanted.end(), [&](auto const& needed) {
    auto const has = amount_of(w.free, needed.first);
    return has != w.free.end() && has->second >= needed.second;
  });
}

void coordinator::state::reserve(worker& w, slot c) {
  auto const& l = closures[c].owner->lanes[closures[c].lane];
  if (!l.single) return;
  for (auto const& [name, amount] : requirements[l.requirement].resources) {
    auto const has = amount_of(w.free, name);
    check(has != w.free.end() && has->second >= amount, "a worker has what is taken from it");
    has->second -= amount;
  }
  reconsider(w);
}

void coordinator::state::let_go(worker& w, slot c) {
  auto& r = closures[c];
  closures.remove(w.holds, c);
  r.worker = nullptr;
  auto const& l = r.owner->lanes[r.lane];
  if (!l.single) return;
  for (auto const& [name, amount] : requirements[l.requirement].resources)
    amount_of(w.free, name)->second += amount;
  reconsider(w);
}

}  // namespace muster::core
