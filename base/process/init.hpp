// Duties of PID 1 in a container, which inherits all orphans.
#pragma once

#include <optional>

namespace muster {

/// Forks. The child continues as the program. PID 1 reaps orphans and forwards signals to the
/// child, so it never consumes an exit status for which the program waits. Terminal signals reach
/// both through their process group and are not forwarded.
///
/// @return in PID 1, the program's exit status after the child has ended; nothing in the child
/// @throws std::system_error if fork fails
/// @pre No thread has been started.
std::optional<int> run_as_init();

}  // namespace muster
