// What the numbers of functions in changes mean, kept for as long as a listener shows one: the core
// uses its numbers again, history gives numbers of its own. One for each name that is shown.
//
// Folded first in each step and shared by the listeners. Owned by the history of a cluster; engine
// thread only. Limit: config::functions_max and twice callables_max; beyond it those that no
// listener shows are forgotten, and while that does not help what is new has the number of its
// function.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/core/api/changes.hpp"
#include "server/core/api/config.hpp"

namespace muster::history {

using namespace muster::core;  // what is folded has the core's words

class names {
 public:
  struct function {
    std::string name;    // what is shown
    std::string served;  // the function that workers have
    std::string hash;    // of a callable; or empty
    bool callable = false;

    bool operator==(function const&) const = default;
  };

  /// `c` outlives it. `in_use` calls its argument for each number that a listener shows.
  names(config const& c, std::function<void(std::function<void(function_id)> const&)> in_use)
      : config_(c), in_use_(std::move(in_use)) {}

  void fold(changes const& c, time_point now);

  /// History's number of a function. REQUIRES: it was named in a change.
  function_id of(function_id core) const { return own_[raw(core)]; }
  /// The number of one that an earlier process has shown.
  function_id of(function f, time_point now) { return number_of(std::move(f), now); }
  function const& operator[](function_id own) const { return functions_[raw(own)]; }
  std::size_t size() const { return numbers_.size(); }
  /// Numbers are below it.
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
  time_point next_look_{};  // a look at all that is shown is not for every new name
};

}  // namespace muster::history
