// What readers ask about the functions that workers have and closures call.
//
// Handed out by the coordinator, which outlives it; engine thread only.
#pragma once

#include <string_view>
#include <vector>

#include "server/core/api/views.hpp"

namespace muster::core {

struct engine_state;

class function_queries {
 public:
  explicit function_queries(engine_state const& core) : core_(core) {}

  /// Those that workers are asked for, with what is called through them counted in.
  std::vector<function_view> all() const;
  /// By the names that people know.
  std::vector<shown_function_view> shown() const;
  /// REQUIRES: the core has given the number.
  std::string_view name(function_id f) const;
  /// What a closure with a record calls, as people know it; empty without a record.
  std::string_view called(closure_id closure) const;

 private:
  engine_state const& core_;
};

}  // namespace muster::core
