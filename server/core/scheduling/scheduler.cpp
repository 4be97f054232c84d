#include "server/core/scheduling/scheduler.hpp"

#include <algorithm>
#include <set>

namespace muster::core {

namespace {

/// Maximum number of combinations of function, priority and requirement in one session. Further
/// combinations are refused with RESOURCE_EXHAUSTED.
constexpr std::size_t queues_max = 4'096;

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

requirement needs_of(closure_extras const& x) {
  auto const& o = x.options;
  return {o.task_job, o.task_index, sorted(o.labels), sorted(o.resources), sorted(x.per_worker)};
}

}  // namespace

void scheduler::open(session_number n, session_id id, std::uint32_t weight) {
  auto& q = queues_.open(n);
  q.id = id;
  q.weight = q.turns_left = weight;
  in_order_.emplace(id, n);
}

void scheduler::close(session_number n) {
  clear_queues(n);
  in_order_.erase(queues_[n].id);
  queues_.close(n);
}

void scheduler::clear_queues(session_number n) {
  auto& q = queues_[n];
  end_turns(n);
  release_requirements(q);
  q.queues.clear();
  q.queue_of.clear();
}

std::vector<std::reference_wrapper<session_queue>> scheduler::all_queues() {
  std::vector<std::reference_wrapper<session_queue>> all;
  all.reserve(in_order_.size());
  for (auto const& [id, n] : in_order_) all.emplace_back(queues_[n]);
  return all;
}

status scheduler::room_for(session_queue const* s, std::vector<closure_spec> const& specs) const {
  std::set<std::tuple<function_id, std::int32_t, requirement>> queues;
  std::set<requirement> fresh;
  closure_spec const* previous = nullptr;
  for (auto const& spec : specs) {
    if (!spec.extras) continue;
    if (previous && previous->extras == spec.extras && previous->function == spec.function)
      continue;
    previous = &spec;
    auto needs = needs_of(*spec.extras);
    if (!needs.empty() && !requirements_.knows(needs)) fresh.insert(needs);
    queues.emplace(spec.function, spec.extras->options.priority, std::move(needs));
  }
  if (requirements_.size() + fresh.size() > requirement_table::max)
    return wrong_field("options",
                       "the server's jobs have " + std::to_string(requirements_.size()) +
                           " different requirements, the limit is " +
                           std::to_string(requirement_table::max),
                       requirement_table::max, code::resource_exhausted);
  std::size_t added = queues.size();
  if (s)
    for (auto const& [function, priority, needs] : queues) {
      auto const same = [&](closure_queue const& l) {
        return l.function == function && l.priority == priority &&
               (l.requirement == 0 ? needs.empty() : requirements_[l.requirement] == needs);
      };
      if (queues.size() + s->queues.size() <= queues_max) break;
      added -= std::any_of(s->queues.begin(), s->queues.end(), same);
    }
  if (added + (s ? s->queues.size() : 0) <= queues_max) return {};
  return wrong_field("options",
                     "more than " + std::to_string(queues_max) +
                         " combinations of function, priority and requirement in one job",
                     queues_max, code::resource_exhausted);
}

std::uint32_t scheduler::queue_with_needs(session_number n, closure_spec const& spec) {
  auto& q = queues_[n];
  std::uint32_t number = 0;
  bool fresh = false;
  if (auto needs = needs_of(*spec.extras); !needs.empty())
    std::tie(number, fresh) = requirements_.intern(std::move(needs));
  if (fresh) {
    requirements_.hold(number);  // until the queue holds the number
    for (auto const& [stream, w] : workers_)
      if (satisfies(*w, requirements_[number])) reconsider(*w);
  }
  auto const before = q.queues.size();
  auto const at = find_or_add(q, {spec.function, spec.extras->options.priority, number});
  if (q.queues.size() == before || number == 0) return at;
  if (!fresh) requirements_.hold(number);
  q.queues[at].single = !requirements_[number].resources.empty();
  return at;
}

void scheduler::release_requirements(session_queue& q) {
  for (auto const& l : q.queues) {
    if (l.requirement == 0 || !requirements_.release(l.requirement)) continue;
    for (auto const& [stream, w] : workers_)
      if (std::binary_search(w->satisfied.begin(), w->satisfied.end(), l.requirement))
        reconsider(*w);
  }
}

void scheduler::defer(slot c) {
  auto& q = queues_[closures_[c].owner];
  closures_.push_back(q.deferred, c);
  ++q.queues[closures_[c].queue].deferred;
}

void scheduler::end_deferral(slot c) {
  auto& q = queues_[closures_[c].owner];
  closures_.remove(q.deferred, c);
  --q.queues[closures_[c].queue].deferred;
}

worker_slots& scheduler::add(worker_slots s) {
  auto owned = std::make_unique<worker_slots>(std::move(s));
  auto& w = *owned;
  workers_.emplace(w.stream, std::move(owned));
  enlist(w);
  return w;
}

void scheduler::enlist(worker_slots& w) {
  if (raw(w.number) >= by_number_.size()) by_number_.resize(raw(w.number) + std::size_t{1});
  by_number_[raw(w.number)] = &w;
}

void scheduler::place(worker_slots& w, std::vector<function_id> functions) {
  enter(w, {sorted(std::move(functions)), w.satisfied, w.by_name_only});
}

void scheduler::forget(worker_slots& w) {
  check(w.held() == 0 && !w.placed, "a worker must not hold closures when it is removed");
  by_number_[raw(w.number)] = nullptr;
  workers_.erase(w.stream);
}

bool scheduler::enough(resource_amounts const& of, requirement const& r) {
  return std::all_of(r.resources.begin(), r.resources.end(), [&](auto const& needed) {
    auto const has = amount_of(of, needed.first);
    return has != of.end() && has->second >= needed.second;
  });
}

bool scheduler::satisfies(worker_slots const& w, requirement const& r) const {
  if (w.by_name_only && r.job.empty()) return false;
  if (!r.job.empty() && (w.job != r.job || (r.index >= 0 && w.index != r.index))) return false;
  for (auto const& l : r.labels)
    if (std::find(w.labels.begin(), w.labels.end(), l) == w.labels.end()) return false;
  if (!enough(w.free, r)) return false;
  return std::all_of(r.per_worker.begin(), r.per_worker.end(), [&](per_worker_id v) {
    return std::binary_search(w.built.begin(), w.built.end(), v);
  });
}

void scheduler::reconsider(worker_slots& w) {
  std::vector<std::uint32_t> now_satisfied;
  requirements_.for_each([&](std::uint32_t number, requirement const& r) {
    if (satisfies(w, r)) now_satisfied.push_back(number);
  });
  if (now_satisfied == w.satisfied) return;
  w.satisfied = std::move(now_satisfied);
  if (!w.placed) return;
  auto functions = w.placed->functions;
  remove(w);
  enter(w, {std::move(functions), w.satisfied, w.by_name_only});
}

void scheduler::set_built(worker_slots& w, per_worker_id v, bool built) {
  auto const at = std::lower_bound(w.built.begin(), w.built.end(), v);
  bool const there = at != w.built.end() && *at == v;
  if (built && !there) w.built.insert(at, v);
  if (!built && there) w.built.erase(at);
  if (built != there) fleet_changed();
}

bool scheduler::has_free(worker_slots const& w, slot c) const {
  auto const& l = queue_of(c);
  return !l.single || enough(w.free, requirements_[l.requirement]);
}

void scheduler::take_for_queue(worker_slots& w, closure_queue const& l) {
  for (auto const& [name, amount] : requirements_[l.requirement].resources) {
    auto const has = amount_of(w.free, name);
    check(has != w.free.end() && has->second >= amount,
          "the worker must have the requested amount of the resource");
    has->second -= amount;
  }
  reconsider(w);
}

void scheduler::give_back_for_queue(worker_slots& w, closure_queue const& l) {
  for (auto const& [name, amount] : requirements_[l.requirement].resources)
    amount_of(w.free, name)->second += amount;
  ++room_version_;
  reconsider(w);
}

bool scheduler::lend(worker_slots& w, resource_amounts const& amounts) {
  if (amounts.empty()) return true;
  if (!enough(w.free, {{}, -1, {}, amounts, {}})) return false;
  for (auto const& [name, amount] : amounts) {
    amount_of(w.free, name)->second -= amount;
    auto const known = amount_of(w.lent, name);
    known == w.lent.end() ? (void)w.lent.emplace_back(name, amount)
                          : (void)(known->second += amount);
  }
  reconsider(w);
  return true;
}

void scheduler::return_lent(worker_slots& w, resource_amounts const& amounts) {
  if (amounts.empty()) return;
  for (auto const& [name, amount] : amounts) {
    auto const lent = amount_of(w.lent, name);
    check(lent != w.lent.end() && lent->second >= amount,
          "a closure must not get back more resources than it lent");
    lent->second -= amount;
    amount_of(w.free, name)->second += amount;
  }
  ++room_version_;
  reconsider(w);
}

bool scheduler::could_run_if_idle(worker_slots const& w, closure_queue const& l) const {
  if (!w.placed || !w.placed->has_function(l.function)) return false;
  if (l.requirement == 0) return !w.by_name_only;
  auto const& r = requirements_[l.requirement];
  return satisfies(w, {r.job, r.index, r.labels, {}, {}}) && enough(w.resources, r);
}

std::optional<unmet_need> scheduler::unmet(function_id f, requirement const& r) const {
  using kind = unmet_need::kind;
  std::vector<worker_slots const*> left;
  for (auto const& [stream, w] : workers_)
    if (w->placed && w->placed->has_function(f)) left.push_back(w.get());
  // Keeps the workers for which `holds` is true. If no worker remains, returns the previous number
  // of workers, otherwise 0.
  auto const keep = [&](auto holds) -> std::uint64_t {
    auto const before = left.size();
    std::erase_if(left, [&](worker_slots const* w) { return !holds(*w); });
    return before > 0 && left.empty() ? before : 0;
  };
  auto const kept_if_it_has = [&](requirement const& part) {
    return keep([&](worker_slots const& w) { return satisfies(w, part); });
  };
  if (r.job.empty())
    if (auto const of = keep([](worker_slots const& w) { return !w.by_name_only; }))
      return unmet_need{kind::by_name, {}, {}, 0, of};
  if (auto const of = kept_if_it_has({r.job, r.index, {}, {}, {}}))
    return unmet_need{
        kind::task, r.job + (r.index < 0 ? "" : ":" + std::to_string(r.index)), {}, 0, of};
  for (auto const& l : r.labels)
    if (auto const of = kept_if_it_has({r.job, r.index, {l}, {}, {}}))
      return unmet_need{kind::label, l.first, l.second, 0, of};
  for (auto const& [name, amount] : r.resources) {
    if (auto const of = keep([&](worker_slots const& w) {
          auto const has = amount_of(w.resources, name);
          return has != w.resources.end() && has->second >= amount;
        }))
      return unmet_need{kind::resource, name, {}, amount, of};
    if (auto const of = kept_if_it_has({r.job, r.index, {}, {{name, amount}}, {}}))
      return unmet_need{kind::free, name, {}, amount, of};
  }
  for (auto const v : r.per_worker)
    if (auto const of = kept_if_it_has({r.job, r.index, {}, {}, {v}}))
      return unmet_need{kind::per_worker, text(v), {}, 0, of};
  return {};
}

std::string scheduler::misplaced(worker_slots const& w) const {
  auto const name = w.job + ":" + std::to_string(w.index);
  std::vector<std::uint32_t> satisfied;
  requirements_.for_each([&](std::uint32_t number, requirement const& r) {
    if (satisfies(w, r)) satisfied.push_back(number);
  });
  if (satisfied != w.satisfied || satisfied != w.placed->satisfied)
    return name + " is in the wrong placement class";
  if (w.ready != w.wanted()) return name + " is in the wrong ring";
  if (w.held() > w.credits) return name + " has more closures than credits";
  if (w.running.size < w.slots && w.prefetched.size > 0)
    return name + " has an idle slot but also prefetched closures";
  std::map<std::string, std::uint32_t> taken;
  std::uint32_t waiting = 0;
  for (auto const* held : {&w.running, &w.prefetched})
    for (slot c = held->front; c != no_slot; c = closures_[c].next) {
      if (closures_[c].worker != w.number)
        return name + " lists a closure that belongs to another worker";
      if (closures_[c].sent() != (held == &w.prefetched))
        return name + " lists a running closure as prefetched, or the reverse";
      waiting += closures_[c].waits;
      auto const& l = queue_of(c);
      if (l.single)
        for (auto const& [resource, amount] : requirements_[l.requirement].resources)
          taken[resource] += amount;
    }
  for (auto const& [resource, amount] : w.lent) taken[resource] += amount;
  if (waiting != w.yielded || w.slots <= w.yielded || w.slots > w.credits)
    return name + ": the number of slots does not match the closures that have released theirs";
  for (auto const& [resource, amount] : w.free)
    for (auto const& [declared, all] : w.resources)
      if (resource == declared && amount + taken[resource] != all)
        return name + " has free " + resource + ": recorded " + std::to_string(amount) +
               ", actual " + std::to_string(all - taken[resource]);
  return {};
}

std::string scheduler::invalid(bool handing_out) const {
  std::map<session_number, std::pair<std::uint32_t, std::uint32_t>> waiting;
  std::string wrong;
  closures_.for_each([&](slot, closure_record const& r) {
    if (r.deferred()) ++waiting[r.owner].second;
    if (r.state() == closure_state::queued && !r.deferred() && !r.sent()) ++waiting[r.owner].first;
    if (r.is(closure_phase::gathering) && !r.exclusive &&
        (!r.details || !gangs.find(r.details->gang)))
      wrong = "a closure waits for a gang that does not exist";
  });
  queues_.for_each([&](session_number n, session_queue const& q) {
    std::uint32_t queued = 0, deferred = 0;
    for (auto const& l : q.queues) queued += l.queue.size, deferred += l.deferred;
    auto const [are_queued, are_deferred] = waiting[n];
    if (queued != are_queued || deferred != are_deferred || q.deferred.size != deferred)
      wrong = text(q.id) + ": the closures in its queues do not match its waiting closures";
  });
  for (auto const& [stream, w] : workers_) {
    if (auto misplaced_worker = misplaced(*w); !misplaced_worker.empty()) return misplaced_worker;
    if (!handing_out || w->ready != readiness::idle) continue;
    for (auto const& [id, n] : in_order_)
      for (auto const& l : queues_[n].queues)
        if (l.queue.size > 0 && w->placed->can_run(l))
          return w->job + ":" + std::to_string(w->index) + " is idle although " + text(id) +
                 " has a closure that it could run";
  }
  if (!wrong.empty()) return wrong;
  if (auto broken = gangs.invalid(); !broken.empty()) return broken;
  if (auto broken = invalid_exclusive(handing_out); !broken.empty()) return broken;
  return invalid_classes();
}

}  // namespace muster::core
