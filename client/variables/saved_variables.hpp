// Saves variables to checkpoints and loads them into any number of shards. Thread-safe.
#pragma once

#include "client/variables/checkpoint_files.hpp"
#include "muster/detail/variable_core.hpp"

namespace muster::detail {

/// Saves no shard in the middle of a call. Precondition: out.variable() has been called for the
/// variable. Throws errors of calls and of the disk. Throws std::invalid_argument if an answer is
/// invalid.
void save(checkpoint_writer& out, variable_core const& v);
/// Precondition: from.check() succeeded. Throws the errors of calls, and torn.
void load(checkpoint_reader& from, variable_core const& v);

}  // namespace muster::detail
