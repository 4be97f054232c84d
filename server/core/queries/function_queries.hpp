// Queries about the functions that workers provide and closures call.
//
// Used only on the engine thread.
#pragma once

#include <string_view>
#include <vector>

#include "server/core/api/views.hpp"

namespace muster::core {

struct engine_state;

class function_queries {
 public:
  explicit function_queries(engine_state const& core) : core_(core) {}

  /// Returns the functions that workers provide. Counts include the closures of callables.
  std::vector<function_view> all() const;
  /// Returns the functions by their displayed names.
  std::vector<shown_function_view> shown() const;
  /// REQUIRES: the core assigned the id.
  std::string_view name(function_id f) const;
  /// Returns the displayed name of the closure's function. Empty if the closure has no record.
  std::string_view called(closure_id closure) const;

 private:
  engine_state const& core_;
};

}  // namespace muster::core
