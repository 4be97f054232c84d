// The class behind "muster.variable" in workers of C++: an array of one dtype with the slots of its
// optimizers. Methods, their arguments and what is wrong with these are as
// python/muster/variables/variable.py has them. Arguments and results are arrays.
#pragma once

#include "muster/object_class.hpp"

namespace muster::detail {

/// Copies for checkpoints of several coordinators at once; of more the oldest goes.
inline constexpr std::size_t cuts_max = 4;

/// What every worker has beside its own classes. Null: none of that name.
class_entry const* built_in_class(std::string_view name);

}  // namespace muster::detail
