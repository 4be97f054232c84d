#include "server/core/coordination/clusters.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "base/check.hpp"

namespace muster::core::coordination {
namespace {

constexpr std::size_t past_max = 16;
// Tasks of ended generations that are recognised, of one cluster; the last generation always is.
constexpr std::size_t retired_tasks_max = 200'000;

// SplitMix64: incarnations follow from the seed and never repeat.
std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9E3779B97F4A7C15u;
  auto z = state;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::string jobs_in_short(cluster_spec const& spec) {
  std::string text;
  for (auto const& j : spec.jobs)
    text += (text.empty() ? "" : ",") + j.name + "=" + std::to_string(j.tasks);
  return text.empty() ? "no tasks" : shortened(text, 500);
}

}  // namespace

struct clusters::state {
  /// By what the members of an ended generation are recognised: they may live on for long and must
  /// not act for the tasks that have taken their places.
  struct retired {
    std::uint64_t generation = 0;
    core::incarnation service{};
    std::string cause;
    std::vector<core::incarnation> tasks;  // in order
    std::vector<std::string> peers;        // the same
  };
  struct cluster {
    cluster_spec spec;
    std::optional<cluster_spec> next;  // declared since, for the generation after this one
    bool closed = false;               // stopped to make room for `next`
    coordination::generation generation;
    std::unique_ptr<service> current;
    std::deque<generation_view> past;  // newest first
    std::deque<retired> ended_ones;    // the same
    time_point due = never;            // its place among the deadlines
  };

  state(coordination::limits l, service_registry const& t, std::uint64_t seed)
      : limits(l), types(t), random(seed) {}

  cluster& at(cluster_id c) {
    auto const it = all.find(c);
    check(it != all.end(), "the cluster exists");
    return it->second;
  }

  core::incarnation fresh_incarnation() {
    for (;;)
      if (auto const n = next_random(random); n != 0) return core::incarnation{n};
  }

  status start_generation(cluster& c, time_point now) {
    c.generation = {c.generation.number + 1, fresh_incarnation()};
    auto made = types.make(c.spec, limits, c.generation, now);
    if (!made) return made.error();
    c.current = std::move(*made);
    return {};
  }

  // After whatever may have moved the cluster's deadline.
  void reschedule(cluster_id id, cluster& c, time_point now) { put_due(id, c, due_of(c, now)); }
  void put_due(cluster_id id, cluster& c, time_point next) {
    if (next == c.due) return;
    if (c.due != never) due.erase({c.due, id});
    if (next != never) due.emplace(next, id);
    c.due = next;
  }

  void renew(cluster& c, time_point now) {
    if (!c.closed) c.current->stop(now, fx);
    c.closed = false;
    c.past.push_front(c.current->view(now));
    if (c.next) c.spec = std::move(*c.next);
    c.next.reset();
    if (c.past.size() > past_max) c.past.pop_back();
    retired old{c.generation.number, c.generation.incarnation,
                c.past.front().cause ? c.past.front().cause->message : std::string(),
                c.current->incarnations(), c.current->peers()};
    std::sort(old.tasks.begin(), old.tasks.end());
    std::sort(old.peers.begin(), old.peers.end());
    c.ended_ones.push_front(std::move(old));
    auto const room = retired_tasks_max / std::max<std::size_t>(1, c.spec.size());
    if (c.ended_ones.size() > std::clamp<std::size_t>(room, 1, past_max)) c.ended_ones.pop_back();
    check(start_generation(c, now).ok(), "a service type that was known stays known");
  }

  status allowed(cluster_spec const& spec) const {
    if (auto const valid = validate(spec); !valid.ok()) return valid;
    if (auto const known = types.known(spec.service_type); !known.ok()) return known;
    std::uint64_t tasks = 0;
    for (auto const& j : spec.jobs) tasks += j.tasks;
    if (tasks > limits.tasks_max)
      return {code::invalid_argument, "jobs: have " + std::to_string(tasks) +
                                          " tasks, the limit is " +
                                          std::to_string(limits.tasks_max)};
    return {};
  }

  static bool over(cluster const& c) {
    auto const s = c.current->state();
    return s == generation_state::finished || s == generation_state::failed;
  }

  // Nobody is there who would notice that it begins again.
  static bool untouched(cluster const& c) {
    return c.current->state() == generation_state::waiting && c.current->parked_calls() == 0;
  }

  // What was declared while the generation ran comes into force after its end. Not in the step that
  // ends it: requests and replies name tasks by their index, which only the old declaration
  // understands. So one tick answers whoever still waits, and the next one begins anew.
  bool outdated(cluster const& c) const {
    return c.next && !stopped && (untouched(c) || (c.spec.renew && over(c)));
  }

  // The same generation of what is declared now.
  void begin_again(cluster& c, time_point now) {
    c.spec = std::move(*c.next);
    c.next.reset();
    auto const before = std::move(c.current);
    --c.generation.number;
    check(start_generation(c, now).ok(), "a service type that was known stays known");
    c.current->inherit(*before);
  }

  time_point due_of(cluster const& c, time_point now) const {
    if (c.closed) return now + duration(1);
    return outdated(c) ? now : c.current->next_deadline();
  }

  void tick(cluster& c, time_point now) {
    if (c.closed) return renew(c, now);
    if (!outdated(c)) return c.current->tick(now, fx);
    if (untouched(c)) return begin_again(c, now);
    c.current->stop(now, fx);
    c.closed = true;
  }

  // A registration between the two ticks.
  bool put_off(cluster const& c, request const& r) {
    auto const* registration = std::get_if<register_task>(&r);
    if (registration == nullptr || !(c.closed || outdated(c))) return false;
    auto f = std::make_shared<fault>();
    f->code = code::unavailable;
    f->coordination = false;
    f->message = "cluster '" + c.spec.name + "' is being declared anew; try again";
    fx.replies.push_back({registration->from.call, fault_ptr(std::move(f)), {}});
    return true;
  }

  static std::string ended(cluster const& c, retired const& old) {
    return "generation " + std::to_string(old.generation) + " of cluster '" + c.spec.name +
           "', which has ended" +
           (old.cause.empty() ? "" : " (first cause: " + shortened(old.cause, 1'500) + ")") +
           "; generation " + std::to_string(c.generation.number) + " has taken its place.";
  }

  // Answers a call from a generation that is over; false: it is not.
  template <class Request>
  bool answered_retired(cluster const& c, Request const& r) {
    auto f = std::make_shared<fault>();
    auto const* from = origin(c, r, *f);
    if (!from) return false;
    f->message += ended(c, *from);
    fx.replies.push_back({r.from.call, fault_ptr(std::move(f)), {}});
    return true;
  }

  // The ended generation that the call comes from, or null.
  template <class Request>
  static retired const* origin(cluster const& c, Request const& r, fault& f) {
    constexpr bool registers = std::is_same_v<Request, register_task>;
    f.code = code::aborted;
    f.message = "The task belongs to ";
    auto const believes_another = r.from.service && *r.from.service != c.generation.incarnation;
    for (auto const& old : c.ended_ones) {
      if constexpr (!registers) {
        if (believes_another && *r.from.service == old.service) {
          f.code = code::internal;
          f.message = "wrong service incarnation: requested " + std::to_string(raw(old.service)) +
                      ", currently " + std::to_string(raw(c.generation.incarnation)) +
                      ". The former is ";
          f.mismatch = c.generation.incarnation;
          return &old;
        }
        if (!r.from.service && !r.from.peer.empty() && !c.current->knows_peer(r.from.peer) &&
            std::binary_search(old.peers.begin(), old.peers.end(), r.from.peer))
          return &old;
      }
      if constexpr (registers || std::is_same_v<Request, heartbeat>)
        if (std::binary_search(old.tasks.begin(), old.tasks.end(), r.incarnation) &&
            !c.current->knows(r.incarnation))
          return &old;
    }
    return nullptr;
  }

  coordination::limits const limits;
  service_registry const& types;
  std::uint64_t random;
  std::map<cluster_id, cluster> all;
  std::map<std::string, cluster_id, std::less<>> by_name;
  std::set<std::pair<time_point, cluster_id>> due;
  std::uint32_t last_id = 0;
  bool stopped = false;
  effects fx;
};

clusters::clusters(limits l, service_registry const& types, std::uint64_t seed)
    : state_(std::make_unique<state>(l, types, seed)) {}
clusters::~clusters() = default;

result<cluster_id> clusters::create(time_point now, cluster_spec spec) {
  auto& s = *state_;
  if (s.stopped) return status{code::unavailable, "the server is shutting down"};
  if (auto const valid = s.allowed(spec); !valid.ok()) return valid;
  if (s.by_name.contains(spec.name))
    return status{code::already_exists, "there is a cluster '" + spec.name + "' already"};
  if (s.all.size() >= s.limits.clusters_max)
    return status{code::resource_exhausted, "the server has reached its limit of " +
                                                std::to_string(s.limits.clusters_max) +
                                                " clusters"};
  auto const id = cluster_id{++s.last_id};
  state::cluster c;
  c.spec = std::move(spec);
  c.generation.number = 0;
  if (auto const started = s.start_generation(c, now); !started.ok()) return started;
  s.by_name.emplace(c.spec.name, id);
  s.all.emplace(id, std::move(c));
  return id;
}

result<std::reference_wrapper<effects>> clusters::remove(time_point now, std::string_view name) {
  auto& s = *state_;
  s.fx.clear();
  auto const id = find(name);
  if (!id) return id.error();
  auto& c = s.at(*id);
  c.current->stop(now, s.fx);
  s.put_due(*id, c, never);
  s.by_name.erase(s.by_name.find(name));
  s.all.erase(*id);
  return std::ref(s.fx);
}

result<std::reference_wrapper<effects>> clusters::redeclare(time_point now, cluster_id id,
                                                            cluster_spec spec) {
  auto& s = *state_;
  s.fx.clear();
  auto& c = s.at(id);
  spec.name = c.spec.name;
  if (s.stopped) return status{code::unavailable, "the server is shutting down"};
  if (auto const valid = s.allowed(spec); !valid.ok()) return valid;
  auto const& declared = c.next ? *c.next : c.spec;
  if (spec == declared) return std::ref(s.fx);
  auto text = jobs_in_short(declared) + " becomes " + jobs_in_short(spec);
  if (spec == c.spec) {
    c.next.reset();
    text += ", as the current generation has it";
  } else {
    c.next = std::move(spec);
    auto const at_once = s.untouched(c);
    if (at_once) s.begin_again(c, now);
    text += at_once         ? " at once"
            : !c.spec.renew ? ", but not while the cluster stands, as it does not renew itself"
            : s.outdated(c) ? " with a new generation"
                            : " with the next generation";
  }
  s.reschedule(id, c, now);
  s.fx.notices.push_back({severity::info, "cluster_changed", c.spec.name, {}, std::move(text)});
  return std::ref(s.fx);
}

result<cluster_id> clusters::find(std::string_view name) const {
  auto const it = state_->by_name.find(name);
  if (it == state_->by_name.end())
    return status{code::not_found,
                  "there is no cluster '" + std::string(name.substr(0, 128)) + "'"};
  return it->second;
}

cluster_spec const& clusters::spec(cluster_id c) const {
  return state_->at(c).spec;
}

std::vector<cluster_id> clusters::ids() const {
  std::vector<cluster_id> all;
  for (auto const& [id, c] : state_->all) all.push_back(id);
  return all;
}

bool clusters::exists(cluster_id c) const {
  return state_->all.contains(c);
}

effects& clusters::step(time_point now, cluster_id id, request& r) {
  auto& s = *state_;
  s.fx.clear();
  auto& c = s.at(id);
  if (s.put_off(c, r)) return s.fx;
  if (!c.ended_ones.empty() && !s.stopped &&
      std::visit([&](auto const& q) { return s.answered_retired(c, q); }, r))
    return s.fx;
  if (auto const* registration = std::get_if<register_task>(&r)) {
    auto const task = registration->task.index;
    if (s.over(c) && c.spec.renew && !s.stopped && task != no_task &&
        !c.current->knows(registration->incarnation) && !c.current->takes_back(task))
      s.renew(c, now);
  }
  c.current->perform(now, r, s.fx);
  s.reschedule(id, c, now);
  return s.fx;
}

effects& clusters::call_gone(time_point now, cluster_id c, call_id call) {
  auto& s = *state_;
  s.fx.clear();
  auto& cluster = s.at(c);
  cluster.current->call_gone(now, call, s.fx);
  s.reschedule(c, cluster, now);
  return s.fx;
}

effects& clusters::tick(time_point now) {
  auto& s = *state_;
  s.fx.clear();
  while (!s.due.empty() && s.due.begin()->first <= now) {
    auto const id = s.due.begin()->second;
    auto& c = s.at(id);
    s.tick(c, now);
    // A service that finds nothing to do must not hold up the others.
    s.put_due(id, c, std::max(s.due_of(c, now), now + duration(1)));
  }
  return s.fx;
}

effects& clusters::stop(time_point now) {
  auto& s = *state_;
  s.fx.clear();
  s.stopped = true;
  for (auto& [id, c] : s.all) {
    c.current->stop(now, s.fx);
    s.put_due(id, c, never);
  }
  return s.fx;
}

time_point clusters::next_deadline() const {
  return state_->due.empty() ? never : state_->due.begin()->first;
}

service const& clusters::current(cluster_id c) const {
  return *state_->at(c).current;
}

cluster_view clusters::view(cluster_id id, time_point now) const {
  auto const& c = state_->at(id);
  return {c.spec, c.next, {}, c.current->view(now), {c.past.begin(), c.past.end()}};
}

std::string clusters::violated_invariant() const {
  for (auto const& [id, c] : state_->all)
    if (auto broken = c.current->violated_invariant(); !broken.empty())
      return c.spec.name + ": " + broken;
  return {};
}

}  // namespace muster::core::coordination
