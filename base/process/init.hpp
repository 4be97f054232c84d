// The duties of process 1: as the first process of a container, a program inherits all orphans
// there.
#pragma once

#include <optional>

namespace muster {

/// Divides process 1 in two: the child goes on as the program, and process 1 reaps every orphan and
/// passes signals on to the child. So nobody takes the status of a process that the program waits
/// for. Signals that a terminal sends reach both by their process group, and are not passed on.
///
/// Call it before any thread is started.
/// @return The program's exit status, in process 1 once the child has ended. Nothing: this process
/// is the program, and goes on.
/// @throws std::system_error if the process cannot be forked.
std::optional<int> run_as_init();

}  // namespace muster
