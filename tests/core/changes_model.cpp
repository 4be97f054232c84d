#include "tests/core/changes_model.hpp"

#include "base/check.hpp"
#include "server/core/api/id_text.hpp"

namespace muster::core {
namespace {

template <class Map, class Value>
void update(Map& map, typename Map::key_type const& key, bool present, Value const& value) {
  if (present)
    map[key] = value;
  else
    map.erase(key);
}

}  // namespace

void changes_model::fold(changes const& c) {
  for (auto const& f : c.functions) update(functions_, f.function, f.here, f);
  for (auto const& p : c.places) update(places_, p.place, p.here, p);
  for (auto const& w : c.workers) update(workers_, w.worker, w.here, std::pair{w.job, w.index});
  for (auto const& t : c.tasks) update(tasks_, std::pair{t.job, t.index}, !t.gone, t);
  for (auto const& s : c.sessions) sessions_[s.session] = s, sessions_[s.session].restored = false;
  for (auto const& n : c.names) names_[n.session] = n.name;
  for (auto const& n : c.created) {
    auto& made = closures_[n.closure];
    made = {};
    made.session = n.session;
    made.order = n.order;
    made.function = n.function;
  }
  for (auto const& m : c.moved) {
    auto& of = closures_.at(m.closure);
    of.phase = m.to;
    of.attempt = m.attempt;
    of.worker = m.worker;
  }
  for (auto const& e : c.ended) {
    auto& of = closures_.at(e.of.closure);
    of.phase = phase_of(e.of.as);
    of.attempt = e.of.attempt;
    of.worker = {};
    if (e.released) closures_.erase(e.of.closure);
  }
  for (auto const& v : c.values)
    if (auto const it = closures_.find(v.closure); it != closures_.end())
      it->second.value = v.where;
  for (auto const& r : c.released) check(closures_.erase(r.of.closure) == 1, "what goes was there");
  for (auto const& v : c.per_worker) {
    if (v.gone) {
      per_worker_.erase(v.value);
      continue;
    }
    auto& of = per_worker_[v.value];
    of.owner = v.owner;
    of.released = v.released;
  }
  for (auto const& p : c.components) {
    auto const of = per_worker_.find(p.value);
    if (of == per_worker_.end()) continue;
    if (p.gone)
      of->second.components.erase({p.job, p.index});
    else
      of->second.components[{p.job, p.index}] = {p.state, p.failed};
  }
  for (auto const& s : c.sessions_released) {
    sessions_.erase(s.session);
    names_.erase(s.session);
    std::erase_if(closures_, [&](auto const& of) { return of.second.session == s.session; });
  }
}

void changes_model::fold(effects const& fx) {
  fold(fx.changes);
  for (auto const& d : fx.dispatches)
    for (std::uint32_t i = 0; i < d.count; ++i) {
      auto const& a = fx.assignments[d.first + i];
      auto& of = closures_.at(a.closure);
      of.phase = i < d.running ? closure_phase::running : closure_phase::prefetched;
      of.attempt = a.attempt;
      of.worker = d.worker;
    }
}

std::string changes_model::difference(coordinator const& c) const {
  changes_model now;
  now.fold(c.whole());
  for (auto const& [id, is] : now.closures_) {
    auto const it = closures_.find(id);
    if (it == closures_.end()) return text(id) + " is there, and no change said so";
    auto const& told = it->second;
    if (told == is) continue;
    auto const show = [](closure const& of) {
      return "phase " + std::to_string(static_cast<int>(of.phase)) + ", attempt " +
             std::to_string(of.attempt) + ", worker " + std::to_string(raw(of.worker)) +
             ", value " + std::to_string(static_cast<int>(of.value)) + ", order " +
             std::to_string(of.order) + " of " + text(of.session);
    };
    return text(id) + " is in " + show(is) + "; its changes say " + show(told);
  }
  if (closures_.size() != now.closures_.size()) return "a closure is gone, and no change said so";
  for (auto const& [id, is] : now.sessions_) {
    auto const it = sessions_.find(id);
    if (it == sessions_.end()) return text(id) + " is there, and no change said so";
    if (it->second != is) return text(id) + " is not what its changes say";
  }
  if (sessions_.size() != now.sessions_.size()) return "a session is gone, and no change said so";
  if (names_ != now.names_) return "sessions have other names than their changes say";
  for (auto const& [key, is] : now.tasks_) {
    auto const it = tasks_.find(key);
    if (it == tasks_.end() || it->second != is)
      return "task " + key.first + ":" + std::to_string(key.second) + " is not what changes say";
  }
  if (tasks_.size() != now.tasks_.size()) return "a task is gone, and no change said so";
  if (functions_ != now.functions_) return "other functions are known than changes say";
  if (workers_ != now.workers_) return "other workers are here than changes say";
  if (places_ != now.places_) return "other places are known than changes say";
  if (per_worker_ != now.per_worker_) return "per-worker values are not what changes say";
  return {};
}

}  // namespace muster::core
