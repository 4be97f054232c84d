// Tasks of a container's PID 1, which adopts all orphans.
#pragma once

#include <optional>

namespace muster {

/// Forks. The child continues as the program. PID 1 reaps orphans and forwards signals to the
/// child, but leaves exit statuses of the program's own children to the program. Terminal signals
/// reach both processes through their process group and are not forwarded.
///
/// @return in PID 1, the program's exit status once the child has exited; in the child, nothing
/// @throws std::system_error if fork fails
/// @pre No thread has been started.
std::optional<int> run_as_init();

}  // namespace muster
