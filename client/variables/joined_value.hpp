// Combines several calls into a single value.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "muster/detail/value_handle.hpp"

namespace muster::detail {

/// Returns a value that `join` computes when all parts are ready, or that has the error of the
/// first failed part.
std::shared_ptr<value_handle const> joined(std::vector<std::shared_ptr<value_handle const>> parts,
                                           std::function<value(std::vector<value>)> join);

/// Returns a value that is ready when all parts are ready, for parts without results.
std::shared_ptr<value_handle const> all_of(std::vector<std::shared_ptr<value_handle const>> parts);

}  // namespace muster::detail
