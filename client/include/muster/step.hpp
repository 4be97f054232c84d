// Progress of a rank, and the request to stop it.
#pragma once

#include <cstdint>

namespace muster {

/// Reports that this rank of a program has finished step `n`, for example of training or a
/// simulation. Takes less than a microsecond and sends nothing: the worker that started the rank
/// reads the step once per second (docs/programs.md, section Steps).
///
/// If the program is asked to stop, all its ranks get true at the same step. While they agree on
/// this step, the call waits for some milliseconds. Outside a program it returns false and has no
/// effect. May be called from any thread.
/// @param n  number of the step
/// @return true if the rank should save its state and return
/// @throws std::invalid_argument  `n` is above 2^53
bool step(std::uint64_t n);

}  // namespace muster
