// Several calls as one value.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "muster/detail/value_handle.hpp"

namespace muster::detail {

/// What `join` makes of the values of `parts`, once all are there. The first error is its error.
std::shared_ptr<value_handle const> joined(std::vector<std::shared_ptr<value_handle const>> parts,
                                           std::function<value(std::vector<value>)> join);

/// Of calls that return nothing.
std::shared_ptr<value_handle const> all_of(std::vector<std::shared_ptr<value_handle const>> parts);

}  // namespace muster::detail
