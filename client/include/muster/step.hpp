// How a rank of a program says which step it has reached, and is told when to stop.
#pragma once

#include <cstdint>

namespace muster {

/// This rank has done step `n`: of training, of a simulation, whatever goes on and on. Costs less
/// than a microsecond, and nothing is sent; the worker that has started the rank looks once a
/// second (docs/programs.md, section Steps). True: stop now, save and return; all ranks of the
/// program get it at the same step. While that step is agreed on it waits, some milliseconds.
///
/// Outside a program: false, and nothing happens. Any thread. Errors: std::invalid_argument above
/// 2^53.
bool step(std::uint64_t n);

}  // namespace muster
