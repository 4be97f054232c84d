// A model of the core built from its changes. Tests compare it with the core after every step, so a
// missing change fails a test.
#pragma once

#include <map>
#include <string>

#include "server/core/coordinator.hpp"

namespace muster::core {

class changes_model {
 public:
  /// Applies the changes of a step.
  void fold(effects const& fx);
  void fold(changes const& c);
  /// Returns a description of the first difference, or an empty string.
  std::string difference(coordinator const& c) const;

 private:
  struct closure {
    session_id session{};
    std::uint32_t order = 0;
    function_id function{};
    closure_phase phase = closure_phase::queued;
    std::uint32_t attempt = 0;
    worker_number worker{};
    value_place value = value_place::memory;

    bool operator==(closure const&) const = default;
  };
  using task_key = std::pair<std::string, std::int64_t>;
  struct value {
    session_id owner{};
    bool released = false;
    std::map<task_key, std::pair<value_state, bool>> components;

    bool operator==(value const&) const = default;
  };

  std::map<function_id, function_named> functions_;
  std::map<closure_id, closure> closures_;
  std::map<session_id, session_changed> sessions_;
  std::map<session_id, std::string> names_;
  std::map<task_key, task_changed> tasks_;
  std::map<worker_number, task_key> workers_;
  std::map<std::uint32_t, place_named> places_;
  std::map<per_worker_id, value> per_worker_;
};

}  // namespace muster::core
