// Duties of process 1 in a container, which inherits all orphans.
#pragma once

#include <optional>

namespace muster {

/// Forks. The child continues as the program. Process 1 reaps orphans and forwards signals to the
/// child, so it never consumes an exit status for which the program waits. Signals of a terminal
/// reach both through their process group and are not forwarded.
///
/// @return the program's exit status, in process 1 after the child has ended. Nothing: this process
/// is the program.
/// @throws std::system_error if fork fails
/// @pre No thread was started.
std::optional<int> run_as_init();

}  // namespace muster
