// Starts the measured server, or uses an existing one.
#include "bench/coordination.hpp"

namespace muster::bench {

coordination_target::coordination_target(options const& o, int agents) {
  if (!o.server.empty()) {
    address_ = o.server;
    pid_ = o.server_pid;
    return;
  }
  auto const declared =
      "default:worker=" + std::to_string(agents) + ";shutdown_timeout=0s;heartbeat_timeout=600s";
  own_.emplace(0, 16, 1, std::vector<std::string>{"--cluster", declared});
  address_ = own_->grpc();
  pid_ = own_->server()->pid();
}

std::chrono::microseconds coordination_target::cpu_time() const {
  return measured() ? cpu_time_of(pid_) : std::chrono::microseconds(0);
}

std::size_t coordination_target::resident_bytes() const {
  return measured() ? resident_bytes_of(pid_) : 0;
}

}  // namespace muster::bench
