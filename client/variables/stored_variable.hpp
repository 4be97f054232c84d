// The C++ implementation of the class "muster.variable": an array of one dtype with its optimizer
// slots. Methods, arguments and errors match python/muster/variables/variable.py.
#pragma once

#include "muster/object_class.hpp"

namespace muster::detail {

/// Maximum number of snapshots for concurrent checkpoints of several coordinators; beyond this
/// number, the oldest snapshot is dropped.
inline constexpr std::size_t cuts_max = 4;

/// Returns a class that every worker provides in addition to its own classes, or null.
class_entry const* built_in_class(std::string_view name);

}  // namespace muster::detail
