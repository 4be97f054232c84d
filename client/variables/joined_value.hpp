// Several calls as a single value.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "muster/detail/value_handle.hpp"

namespace muster::detail {

/// Returns a value computed by `join` when all parts are ready. The first error of a part is its
/// error.
std::shared_ptr<value_handle const> joined(std::vector<std::shared_ptr<value_handle const>> parts,
                                           std::function<value(std::vector<value>)> join);

/// Returns a value for several calls without results.
std::shared_ptr<value_handle const> all_of(std::vector<std::shared_ptr<value_handle const>> parts);

}  // namespace muster::detail
