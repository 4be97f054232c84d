// Derives facts from the output of a step. A program enters PENDING when it is submitted, and
// STARTING when it is placed.
#include <algorithm>
#include <set>

#include "server/core/programs/controller.hpp"

namespace muster::core::programs {
namespace {

course_fact course_of(program const& p) {
  return {p.id,
          p.state,
          p.goal,
          p.attempts,
          p.counted_restarts,
          p.quick_ends,
          {p.failures.begin(), p.failures.end()},
          p.cause,
          p.finished,
          p.not_before,
          p.stop_at,
          p.now.hang};
}

placement_fact placement_of(program const& p, host_table const& hosts) {
  placement_fact f;
  f.program = p.id;
  f.attempt = p.attempts;
  f.own_service = p.now.sheet->own_service;
  f.meeting_point = p.now.sheet->meeting_point;
  f.tunnels = p.now.sheet->tunnels;
  f.store = p.now.sheet->store;
  f.ports = p.now.ports;
  std::map<host_number, std::uint32_t> positions;
  for (auto const& r : p.now.ranks) {
    auto const [at, fresh] =
        positions.try_emplace(r.on, static_cast<std::uint32_t>(f.places.size()));
    if (fresh) {
      auto const& h = hosts.at(r.on);
      f.places.push_back(
          {h.job, h.index, h.incarnation, h.name, h.address, h.first_port, h.last_port, h.lease});
    }
    f.ranks.push_back({r.group, r.index, at->second, r.port});
  }
  return f;
}

}  // namespace

std::vector<fact> controller::facts() const {
  std::vector<fact> all;
  std::set<program_id> changed, submitted, placed;
  for (auto const& c : out_.changes) {
    if (c.gone) {
      all.emplace_back(program_removed{c.program});
      continue;
    }
    changed.insert(c.program);
    if (c.state == program_state::pending) submitted.insert(c.program);
    if (c.state == program_state::starting) placed.insert(c.program);
  }
  for (auto const id : changed) {
    auto const* p = table_.find(id);
    if (!p) continue;  // the program was removed in the same step
    if (submitted.contains(id)) all.emplace_back(submitted_fact{id, p->spec, p->created});
    all.emplace_back(course_of(*p));
    if (p->attempts > 0) all.emplace_back(attempt_fact{id, p->now.about});
    if (!placed.contains(id)) continue;
    if (!p->before.empty()) all.emplace_back(attempt_fact{id, p->before.back().about});
    all.emplace_back(placement_of(*p, hosts_));
    auto const oldest = p->before.empty() ? p->attempts : p->before.front().about.attempt;
    if (oldest > 1) all.emplace_back(attempt_removed{id, oldest - 1});
  }
  for (auto const& name : out_.dead) {
    auto const* p = table_.find(name.program);
    if (p && p->attempts == name.attempt) all.emplace_back(p->now.ranks[name.rank].fact(name));
  }
  return all;
}

std::vector<fact> controller::forget_all() const {
  std::vector<fact> all;
  for (auto const& [id, p] : table_.all()) all.emplace_back(program_removed{id});
  return all;
}

}  // namespace muster::core::programs
