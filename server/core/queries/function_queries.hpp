// Queries about the functions that workers provide and closures call.
//
// Owned by the coordinator, which hands it out; engine thread only.
#pragma once

#include <string_view>
#include <vector>

#include "server/core/api/views.hpp"

namespace muster::core {

struct engine_state;

class function_queries {
 public:
  explicit function_queries(engine_state const& core) : core_(core) {}

  /// Returns the functions that workers provide. Their counts include callables that run through
  /// them.
  std::vector<function_view> all() const;
  /// Returns the functions under the names that users know.
  std::vector<shown_function_view> shown() const;
  /// REQUIRES: the core assigned the id.
  std::string_view name(function_id f) const;
  /// Returns the name that users know of what the closure calls; empty without a record.
  std::string_view called(closure_id closure) const;

 private:
  engine_state const& core_;
};

}  // namespace muster::core
