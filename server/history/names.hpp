// Names of functions that listeners display. The core reuses its numbers of functions, so the
// history assigns its own, one per name.
//
// Folded before the other listeners, which share it. Owned by the history of a cluster; engine
// thread only. Limit: config::functions_max and twice callables_max. Beyond it, unused names are
// dropped. If that is not enough, new names get the number of their function.
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
    std::string served;  // name of the worker's function
    std::string hash;    // of a callable; or empty
    bool callable = false;

    bool operator==(function const&) const = default;
  };

  /// `c` outlives it. `in_use` calls its argument for each number that a listener uses.
  names(config const& c, std::function<void(std::function<void(function_id)> const&)> in_use)
      : config_(c), in_use_(std::move(in_use)) {}

  void fold(changes const& c, time_point now);

  /// Returns the history's number of a function.
  /// @pre A change contained its name.
  function_id of(function_id core) const { return own_[raw(core)]; }
  /// Returns the number of a function of an earlier process.
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
  std::vector<function_id> own_;  // by the core's number
  std::vector<function> functions_;
  std::unordered_map<std::string, function_id> numbers_;
  std::vector<function_id> free_;
  time_point next_check_at_{};  // earliest next search for unused names
};

}  // namespace muster::history
