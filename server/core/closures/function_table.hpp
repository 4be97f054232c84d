// Function names as small numbers, with what is counted for each. Names are never forgotten, their
// number is limited (config::functions_max). Owned by the closure book.
//
// A function such as "python:3.11" calls what it is given. Such a callable is one more number,
// under whose name closures are counted and shown; queues, workers and placement know its function
// alone, `served(f)`. Callables are limited (config::callables_max): when there is no room, those
// that nobody refers to are forgotten, and while that does not help closures show their function.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/core/api/changes.hpp"
#include "server/core/api/config.hpp"
#include "server/core/api/model.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

struct function_entry {
  std::string name;
  std::uint32_t workers = 0;  // connected ones that have it
  bool ever_had = false;      // by some worker
  std::uint64_t waiting = 0;  // for a time or an input; not among the queued
  std::uint64_t queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
  // Of a callable, whose name is what is shown instead of its function's; none: its number is free.
  bool callable = false;
  function_id served{};        // its function, that workers have; of a function itself
  std::string hash{};          // or empty
  std::uint32_t versions = 0;  // of one without a hash: callables with this name and a hash
};

class function_table {
 public:
  /// Both outlive it. Numbers that come and go are told in `out`.
  function_table(config const& c, changes& out) : config_(c), changes_(out) {}

  result<function_id> intern(std::string_view name) {
    if (auto const it = ids_.find(name); it != ids_.end()) return it->second;
    if (name.empty()) return status{code::invalid_argument, "function name is empty"};
    if (name.size() > config_.function_name_bytes_max)
      return status{code::invalid_argument, "function name has " + std::to_string(name.size()) +
                                                " bytes, the limit is " +
                                                std::to_string(config_.function_name_bytes_max)};
    for (unsigned char const c : name)
      if (c < 0x20 || c == 0x7f)
        return status{code::invalid_argument, "function name contains a control character"};
    if (ids_.size() >= config_.functions_max)
      return status{code::resource_exhausted, "the server knows " + std::to_string(ids_.size()) +
                                                  " function names, its limit"};
    auto const id = function_id{static_cast<std::uint32_t>(entries_.size())};
    entries_.push_back({});
    entries_.back().name = name;
    entries_.back().served = id;
    learn(entries_.back());
    changes_.functions.push_back({id, true, false, id, std::string(name), {}});
    return id;
  }

  /// The number of what the function is to call. Of a name with callable_versions_max hashes others
  /// share one without. Nothing: there is no room. REQUIRES: `f` is a function's, the name is not
  /// empty.
  std::optional<function_id> intern(function_id f, callable_name const& called);
  /// What workers declare and queues are for; of a function itself.
  function_id served(function_id f) const { return (*this)[f].served; }
  /// Of a closure's record, as a spec has it.
  void name(function_id f, closure_spec& into) const {
    into.function = served(f);
    into.callable = into.function == f ? 0 : raw(f);
  }
  /// Forgets callables whose numbers are not set here; what was counted of them goes to their
  /// functions. REQUIRES: `used` has a place for each number, set for each that somebody has.
  void forget_unused(std::vector<bool> used);
  /// Of the function and what it calls.
  function_entry totals(function_id f) const;
  std::size_t numbers() const { return entries_.size(); }
  std::size_t callables() const { return callables_.size(); }

  /// When callables may be looked through next: a look at all closures is not for every request.
  time_point next_look{};

  function_entry& operator[](function_id f) { return *by_id_[raw(f)]; }
  function_entry const& operator[](function_id f) const { return *by_id_[raw(f)]; }
  /// Nothing when nobody has ever named it.
  std::optional<function_id> find(std::string_view name) const {
    auto const it = ids_.find(name);
    return it == ids_.end() ? std::nullopt : std::optional(it->second);
  }
  bool knows(function_id f) const { return raw(f) < entries_.size(); }
  std::deque<function_entry> const& all() const { return entries_; }

 private:
  static std::string key_of(function_id f, callable_name const& called);
  std::optional<function_id> add(function_id f, callable_name const& called);
  void forget(function_entry& f);
  void learn(function_entry& f) {
    function_id const id{static_cast<std::uint32_t>(by_id_.size())};
    by_id_.push_back(&f);
    if (!f.callable)
      ids_.emplace(f.name, id);
    else if (!f.name.empty())
      callables_.emplace(key_of(f.served, {f.name, f.hash}), id);
  }

  config const& config_;
  changes& changes_;
  std::deque<function_entry> entries_;  // a deque keeps the names, and views of them, in place
  std::vector<function_entry*> by_id_;  // look-up in a deque divides
  std::unordered_map<std::string_view, function_id> ids_;
  std::unordered_map<std::string, function_id> callables_;
  std::vector<function_id> free_;  // numbers of callables that were forgotten
};

}  // namespace muster::core
