// The lateness of a generation as people read it: by barrier, by task, by host.
#include <algorithm>
#include <map>

#include "server/core/coordination/generation_views.hpp"

namespace muster::core::coordination {
namespace {

std::string host_of(std::string const& peer) {
  return peer.substr(0, peer.rfind(':'));
}

// As the command line and the page name it: "worker:3".
std::string short_name(cluster_spec const& spec, task_index t) {
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

straggler_view generation_views::stragglers(std::uint64_t generation) const {
  auto const& late = barriers.late();
  straggler_view v;
  v.generation = generation;
  for (auto m = late.meetings().rbegin(); m != late.meetings().rend(); ++m)
    v.barriers.push_back({m->which.id, m->which.counter, m->ended, m->who->size(),
                          short_name(spec, m->last), host_of(roster[m->last].peer), m->late,
                          m->spread});
  std::map<std::string, sum_of_host> hosts;
  for (auto const t : late.worst(straggler_view::tasks_looked_at)) {
    auto const& s = late.of(t);
    auto const host = host_of(roster[t].peer);
    auto& h = hosts[host];
    ++h.tasks, h.last += s.last, h.meetings += s.meetings, h.late_us += s.late_us;
    if (v.tasks.size() == straggler_view::tasks_shown) continue;
    auto const latest = late.latest(t);
    h.latest = std::max(h.latest, latest);
    v.tasks.push_back(
        {short_name(spec, t), host, s.last, s.meetings, mean(s.late_us, s.meetings), latest});
  }
  for (auto const& [name, h] : hosts)
    v.hosts.push_back({name, h.tasks, h.last, mean(h.late_us, h.meetings), h.latest});
  std::stable_sort(v.hosts.begin(), v.hosts.end(), [](auto const& a, auto const& b) {
    return a.last != b.last ? a.last > b.last : a.late_mean > b.late_mean;
  });
  if (v.hosts.size() > straggler_view::hosts_shown) v.hosts.resize(straggler_view::hosts_shown);
  return v;
}

}  // namespace muster::core::coordination
