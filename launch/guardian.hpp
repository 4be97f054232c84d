// A run is two processes. The one that was started is the guardian: it waits, passes signals on and
// kills whatever is left once the other is gone. Its child is the launcher, which does the work,
// and kills everything should the guardian be gone. Both adopt what the programs of the run leave
// behind, so neither can be killed with the other and its descendants getting away.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "base/process/file_descriptor.hpp"

namespace muster::launch {

struct side {
  /// In the guardian, once the run is over: its exit status.
  std::optional<int> over{};
  /// In the launcher: each byte is a signal that the guardian was sent, the end of the line is its
  /// end.
  file_descriptor line{};
  /// In the launcher: an eventfd to write to once it reads its line. Until then a second signal
  /// that stops is not for it to answer: the guardian kills it.
  file_descriptor begun{};
};

/// Splits this process in two and returns in both: in the launcher at once, in the guardian when
/// nothing of the run is left. `verb`: who says on stderr that the launcher was killed. REQUIRES:
/// one thread. Errors: std::system_error.
side split(char const* verb = "muster run");

/// Kills, and waits for, what descends from this process and was left to it by its parents, and
/// what it started itself, but not `spared`. For each at most a second.
void kill_orphans(std::vector<pid_t> const& spared = {});

}  // namespace muster::launch
