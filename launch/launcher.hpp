// Runs a command as all the tasks of a cluster that are this machine's: starts them, restarts all
// of them together after a failure, passes signals on, and says in the end what happened. Made and
// run by main, once a process, below a guardian.
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

  file_descriptor guardian_line, begun;  // of split()
  /// What to start; asked for again at each restart, with how often there was one.
  std::function<std::vector<role>(int restart)> roles;
  output_options output{};
  int max_restarts = 0;
  /// A task that ends with this status asks for a restart that is not counted.
  std::optional<int> free_restart_status{};
  milliseconds grace{10'000};  // from SIGTERM to SIGKILL
  /// The pause before a restart: doubled from the first to the second, with jitter, and the first
  /// again after a run of `backoff_reset_after`.
  milliseconds backoff_min{1'000};
  milliseconds backoff_max{30'000};
  milliseconds backoff_reset_after{300'000};
};

/// Processes that one launcher starts: each takes two of the usual 1,024 files.
constexpr int processes_max = 256;

/// So many ports of 127.0.0.1 that nobody listens on, all different. Nothing keeps others from
/// taking them before they are used; that is what a restart is for. Errors: std::system_error.
std::vector<int> free_ports(std::size_t count);

/// Returns the exit status: 0, or that of the first that failed (128 + n after signal n), 127 if
/// the command was not found. SIGINT, SIGTERM and SIGHUP of the guardian are passed on and end it,
/// a second one kills; SIGUSR1 and SIGUSR2 are passed on. Nothing that it started is left. After
/// one that came before, nothing is started: 128 + n. Errors: std::runtime_error, std::system_error
/// before anything runs, and whatever `roles` throws.
int run(launch_options options);

}  // namespace muster::launch
