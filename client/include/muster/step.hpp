// Reports a rank's progress, and returns whether the rank should stop.
#pragma once

#include <cstdint>

namespace muster {

/// Reports that this rank of a program has finished step `n`, for example of training or a
/// simulation. Takes less than a microsecond, because nothing is sent: the worker that started the
/// rank reads the step once per second (docs/programs.md, section Steps).
///
/// If the program is asked to stop, step() returns true at the same step in all ranks. The call
/// waits for a few milliseconds while the ranks agree on this step. Outside a program, step()
/// returns false and has no effect. May be called from any thread.
/// @param n  number of the step
/// @return true if the rank should save its state and return
/// @throws std::invalid_argument  `n` is above 2^53
bool step(std::uint64_t n);

}  // namespace muster
