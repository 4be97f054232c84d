// Ports are assigned cyclically, so that a returned port is reused as late as possible.
#include "server/core/programs/ports.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace muster::core::programs {

void port_table::forget_rested(std::string const& address, time_point now) {
  auto const it = machines_.find(address);
  if (it == machines_.end()) return;
  std::erase_if(it->second.until, [now](auto const& p) { return p.second <= now; });
  if (it->second.until.empty()) machines_.erase(it);
}

std::size_t port_table::available(std::string const& address, std::uint16_t first,
                                  std::uint16_t last, time_point now, std::size_t enough) {
  std::size_t const all = last - first + std::size_t{1};
  auto it = machines_.find(address);
  if (it == machines_.end() || enough + it->second.until.size() <= all)
    return std::min(all, enough);
  forget_rested(address, now);
  it = machines_.find(address);
  if (it == machines_.end()) return std::min(all, enough);
  auto const& until = it->second.until;
  auto const taken = std::distance(until.lower_bound(first), until.upper_bound(last));
  return std::min(enough, all - static_cast<std::size_t>(taken));
}

std::optional<std::uint16_t> port_table::take(std::string const& address, std::uint16_t first,
                                              std::uint16_t last, time_point now) {
  forget_rested(address, now);
  auto& m = machines_[address];
  std::uint32_t const size = last - first + std::uint32_t{1};
  std::uint32_t const begin = m.last >= first && m.last < last ? m.last - first + 1u : 0u;
  for (std::uint32_t i = 0; i < size; ++i) {
    auto const port = static_cast<std::uint16_t>(first + (begin + i) % size);
    if (!m.until.emplace(port, never).second) continue;
    m.last = port;
    return port;
  }
  return {};
}

void port_table::give_back(std::string const& address, std::uint16_t port, time_point now) {
  auto const m = machines_.find(address);
  check(m != machines_.end() && m->second.until.contains(port),
        "only a port that is in use can be released");
  m->second.until[port] = now + rest_;
}

bool port_table::in_use(std::string const& address, std::uint16_t port) const {
  auto const m = machines_.find(address);
  if (m == machines_.end()) return false;
  auto const p = m->second.until.find(port);
  return p != m->second.until.end() && p->second == never;
}

}  // namespace muster::core::programs
