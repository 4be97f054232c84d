#include "server/history/barriers/stragglers.hpp"

#include <algorithm>
#include <map>

namespace muster::history {

namespace {

std::string host_of(std::string const& peer) {
  return peer.substr(0, peer.rfind(':'));
}

std::string short_name(coordination::cluster_spec const& spec, coordination::task_index t) {
  auto const [job, index] = spec.place(t);
  return spec.jobs[job].name + ":" + std::to_string(index);
}

struct sum_of_host {
  std::uint32_t tasks = 0, last = 0;
  std::uint64_t meetings = 0, late_us = 0;
  duration latest{};
};

duration mean(std::uint64_t us, std::uint64_t count) {
  return std::chrono::microseconds(count == 0 ? 0 : us / count);
}

}  // namespace

straggler_view stragglers(lateness const* known, coordination::generation_views const& now) {
  straggler_view v;
  v.generation = now.number;
  if (!known) return v;
  auto const& late = *known;
  auto const host_of_task = [&](coordination::task_index t) {
    return host_of(now.registry[t].peer);
  };
  for (auto m = late.meetings().rbegin(); m != late.meetings().rend(); ++m)
    v.barriers.push_back({m->which.id, m->which.counter, m->ended, m->who->size(),
                          short_name(now.spec, m->last), host_of_task(m->last), m->late,
                          m->spread});
  std::map<std::string, sum_of_host> hosts;
  for (auto const t : late.worst(straggler_view::tasks_examined)) {
    auto const& s = late.of(t);
    auto const host = host_of_task(t);
    auto& h = hosts[host];
    ++h.tasks, h.last += s.last, h.meetings += s.meetings, h.late_us += s.late_us;
    if (v.tasks.size() == straggler_view::tasks_shown) continue;
    auto const latest = late.latest(t);
    h.latest = std::max(h.latest, latest);
    v.tasks.push_back(
        {short_name(now.spec, t), host, s.last, s.meetings, mean(s.late_us, s.meetings), latest});
  }
  for (auto const& [name, h] : hosts)
    v.hosts.push_back({name, h.tasks, h.last, mean(h.late_us, h.meetings), h.latest});
  std::stable_sort(v.hosts.begin(), v.hosts.end(), [](auto const& a, auto const& b) {
    return a.last != b.last ? a.last > b.last : a.late_mean > b.late_mean;
  });
  if (v.hosts.size() > straggler_view::hosts_shown) v.hosts.resize(straggler_view::hosts_shown);
  return v;
}

}  // namespace muster::history
