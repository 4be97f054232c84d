// Variables into checkpoints, and out of them into whatever shards there are now. Any thread.
#pragma once

#include "client/variables/checkpoint_files.hpp"
#include "muster/detail/variable_core.hpp"

namespace muster::detail {

/// Each shard between two of its calls. REQUIRES: out.variable() has named it. Errors: those of
/// calls and of the disk; std::invalid_argument (it has answered as no variable does).
void save(checkpoint_writer& out, variable_core const& v);
/// REQUIRES: from.check() has found it. Errors: those of calls; torn.
void load(checkpoint_reader& from, variable_core const& v);

}  // namespace muster::detail
