// A run consists of two processes. The supervisor, which the user started, waits, forwards signals,
// and kills all remaining processes if the launcher dies. Its child, the launcher, does the work,
// and kills everything if the supervisor dies. Both adopt orphans of the run's programs, so killing
// either process leaves no process behind.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "base/process/file_descriptor.hpp"

namespace muster::launch {

struct split_result {
  /// Exit status of the run. Set only in the supervisor, after the run.
  std::optional<int> over{};
  /// Pipe from the supervisor to the launcher. Each byte is a signal that the supervisor received.
  /// End of file means that the supervisor has exited.
  file_descriptor line{};
  /// An eventfd, used in the launcher. The launcher must write to it when it starts reading `line`.
  /// Until then, the supervisor kills the launcher at a second stop signal.
  file_descriptor begun{};
};

/// Forks this process and returns in both processes: immediately in the launcher, and in the
/// supervisor once all processes of the run have exited.
/// @param verb command name to show if the launcher is killed
/// @pre The process has one thread.
/// @throws std::system_error
split_result split(char const* verb = "muster run");

/// Kills and reaps this process's children, including adopted orphans, except `spared`. Waits at
/// most a second for each child.
void kill_orphans(std::vector<pid_t> const& spared = {});

}  // namespace muster::launch
