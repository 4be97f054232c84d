// Function names that listeners display. The core reuses its function numbers, so the history
// assigns its own number to each name.
//
// Updated before the other listeners. Owned by a cluster's history; used only on the engine thread.
// Limit: config::functions_max plus twice callables_max. At the limit, names of unused callables
// are dropped. If all callables are in use, a new callable shares the number of its function's
// name.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/core/api/changes.hpp"
#include "server/core/api/config.hpp"

namespace muster::history {

using namespace muster::core;

class names {
 public:
  struct function {
    std::string name;
    std::string served;
    std::string hash;  // hash of a callable; otherwise empty
    bool callable = false;

    bool operator==(function const&) const = default;
  };

  /// `c` must outlive the object. `in_use` calls its argument with each function number that a
  /// listener uses.
  names(config const& c, std::function<void(std::function<void(function_id)> const&)> in_use)
      : config_(c), in_use_(std::move(in_use)) {}

  void fold(changes const& c, time_point now);

  /// @pre A folded change contained the function's name.
  function_id of(function_id core) const { return own_[raw(core)]; }
  /// Returns the number for a function from an earlier server process.
  function_id of(function f, time_point now) { return number_of(std::move(f), now); }
  function const& operator[](function_id own) const { return functions_[raw(own)]; }
  std::size_t size() const { return numbers_.size(); }
  std::size_t numbers() const { return functions_.size(); }

 private:
  function_id number_of(function f, time_point now);
  void forget_unused();
  static std::string key_of(function const& f);

  config const& config_;
  std::function<void(std::function<void(function_id)> const&)> in_use_;
  std::vector<function_id> own_;  // by the core's function number
  std::vector<function> functions_;
  std::unordered_map<std::string, function_id> numbers_;
  std::vector<function_id> free_;
  time_point next_check_at_{};
};

}  // namespace muster::history
