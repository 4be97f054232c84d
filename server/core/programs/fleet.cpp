#include "server/core/programs/fleet.hpp"

namespace muster::core::programs {

fleet fleet_for(program const& p, host_table const& hosts, ledger const& resources,
                program_limits const& limits, time_point now, fleet::amounts which, bool avoid) {
  fleet f;
  bool const free = which == fleet::amounts::free;
  for (auto const n : hosts.attached()) {
    auto const& h = hosts.at(n);
    auto const failed = p.failures.find(h.name);
    if (avoid && failed != p.failures.end() && failed->second >= avoided_after) continue;
    if (!p.spec->upload.empty() && !h.unpacks) continue;
    auto const at = resources.find(h.stream);
    auto const taken = free ? static_cast<std::uint32_t>(h.alive.size()) : 0;
    if (!at.open || !host_table::fresh(h, now) || taken >= limits.worker_ranks_max) continue;
    f.rooms.push_back({static_cast<std::uint32_t>(f.hosts.size()), free ? *at.free : *at.all,
                       at.labels, limits.worker_ranks_max - taken});
    f.hosts.push_back(n);
  }
  return f;
}

}  // namespace muster::core::programs
