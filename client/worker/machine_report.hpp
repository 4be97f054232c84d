// Converts a worker's machine statistics to the wire format.
#pragma once

#include "base/machine.hpp"
#include "base/utf8.hpp"
#include "muster/v1/worker.pb.h"

namespace muster {

inline void to_wire(machine const& from, v1::Machine& to) {
  to.Clear();
  if (from.cpu) to.set_cpu(*from.cpu);
  if (from.cpus) to.set_cpus(*from.cpus);
  if (from.memory) to.set_memory_bytes(*from.memory);
  if (from.memory_total) to.set_memory_total_bytes(*from.memory_total);
  if (from.received) to.set_received(*from.received);
  if (from.sent) to.set_sent(*from.sent);
  if (from.read) to.set_read(*from.read);
  if (from.written) to.set_written(*from.written);
  for (auto const& g : from.gpus) {
    auto& gpu = *to.add_gpu();
    gpu.set_name(to_utf8(g.name));
    if (g.busy) gpu.set_busy(*g.busy);
    if (g.memory) gpu.set_memory_bytes(*g.memory);
    if (g.memory_total) gpu.set_memory_total_bytes(*g.memory_total);
  }
  for (auto const& u : from.memory_users) {
    auto& user = *to.add_memory_user();
    user.set_pid(u.pid);
    user.set_name(u.name);
    user.set_bytes(u.bytes);
  }
}

}  // namespace muster
