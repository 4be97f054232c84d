#include "server/rpc/workers/machine_convert.hpp"

#include <cmath>

#include "base/utf8.hpp"
#include "server/rpc/status_convert.hpp"

namespace muster::server {
namespace {

constexpr std::size_t name_bytes_max = 64;

std::optional<double> figure(bool there, double value, double most = 1e18) {
  if (!there || !std::isfinite(value) || value < 0 || value > most) return {};
  return value;
}

std::optional<std::uint64_t> amount(bool there, std::uint64_t value) {
  // Readers of JSON support 53 bits.
  if (!there || value > (std::uint64_t{1} << 53)) return {};
  return value;
}

}  // namespace

muster::result<machine> from_wire(v1::Machine const& m) {
  if (static_cast<std::size_t>(m.gpu_size()) > machine::gpus_max)
    return invalid("machine.gpu: " + std::to_string(m.gpu_size()) + " entries, the limit is " +
                   std::to_string(machine::gpus_max));
  if (static_cast<std::size_t>(m.memory_user_size()) > machine::memory_users_max)
    return invalid("machine.memory_user: " + std::to_string(m.memory_user_size()) +
                   " entries, the limit is " + std::to_string(machine::memory_users_max));
  machine to;
  to.cpu = figure(m.has_cpu(), m.cpu());
  to.cpus = figure(m.has_cpus(), m.cpus());
  to.memory = amount(m.has_memory_bytes(), m.memory_bytes());
  to.memory_total = amount(m.has_memory_total_bytes(), m.memory_total_bytes());
  to.received = figure(m.has_received(), m.received());
  to.sent = figure(m.has_sent(), m.sent());
  to.read = figure(m.has_read(), m.read());
  to.written = figure(m.has_written(), m.written());
  for (auto const& g : m.gpu())
    to.gpus.push_back({shortened(g.name(), name_bytes_max), figure(g.has_busy(), g.busy(), 1),
                       amount(g.has_memory_bytes(), g.memory_bytes()),
                       amount(g.has_memory_total_bytes(), g.memory_total_bytes())});
  for (auto const& u : m.memory_user())
    to.memory_users.push_back({u.pid(), shortened(u.name(), name_bytes_max), u.bytes()});
  return to;
}

}  // namespace muster::server
