// Runs a command as each of the cluster tasks that belong to this machine. Restarts these tasks
// together after a failure, forwards signals, and reports the outcome. main() calls it once, in the
// child of a supervisor.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "base/process/file_descriptor.hpp"
#include "launch/ending.hpp"
#include "launch/output.hpp"
#include "launch/plan.hpp"

namespace muster::launch {

struct launch_options {
  using milliseconds = std::chrono::milliseconds;

  file_descriptor supervisor_pipe, begun;
  /// Returns the programs to start. Called again at each restart, with the number of restarts.
  std::function<std::vector<role>(int restart)> roles;
  output_options output{};
  int max_restarts = 0;
  /// If a task exits with this status, the restart is not counted.
  std::optional<int> free_restart_status{};
  milliseconds grace{10'000};  // time from SIGTERM to SIGKILL
  /// Delay before a restart, doubled at each restart, with jitter. Reset after a run of at least
  /// `backoff_reset_after`.
  milliseconds backoff_min{1'000};
  milliseconds backoff_max{30'000};
  milliseconds backoff_reset_after{300'000};
};

/// Maximum number of processes. Each process needs two descriptors, and the usual limit is 1,024.
constexpr int processes_max = 256;

/// Returns distinct unused ports of 127.0.0.1. If another process takes a port before its use, the
/// run is restarted.
/// @throws std::system_error
std::vector<int> free_ports(std::size_t count);

/// Returns the exit status: 0 after success, the status of the first failure (128 + n after signal
/// n), or 127 if the command was not found. SIGINT, SIGTERM and SIGHUP of the supervisor are
/// forwarded and end the run; a second signal kills all processes. SIGUSR1 and SIGUSR2 are
/// forwarded. No process remains afterwards. After a stop signal before the start, returns 128 + n
/// and starts nothing.
/// @throws std::runtime_error, std::system_error before any program has started, and exceptions
///   from `roles`
int run(launch_options options);

}  // namespace muster::launch
