// Function names as small numbers, with counts for each. Names of functions are never forgotten;
// their number is limited (config::functions_max). Owned by the closure book.
//
// A function such as "python:3.11" calls a callable that it is given. A callable has a number of
// its own, under which closures are counted and shown. Queues, workers and placement use only its
// function, `served(f)`. The number of callables is limited (config::callables_max). At the limit,
// callables that nothing refers to are forgotten; until then, further closures show their function
// instead.
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
  std::uint32_t workers = 0;  // connected ones
  bool ever_had = false;      // some worker has provided it
  std::uint64_t waiting = 0;  // for a time or an input; not included in `queued`
  std::uint64_t queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
  // For callables, which are shown instead of their function. An empty name: the number is free.
  bool callable = false;
  function_id served{};  // that workers provide; a function serves itself
  std::string hash{};    // may be empty
  // For a callable without a hash: number of callables with its name and a hash.
  std::uint32_t versions = 0;
};

class function_table {
 public:
  /// REQUIRES: both outlive the table. Assigned and released numbers are reported in `out`.
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
      return status{code::resource_exhausted,
                    "the server has " + std::to_string(ids_.size()) + " function names, the limit"};
    auto const id = function_id{static_cast<std::uint32_t>(entries_.size())};
    entries_.push_back({});
    entries_.back().name = name;
    entries_.back().served = id;
    learn(entries_.back());
    changes_.functions.push_back({id, true, false, id, std::string(name), {}});
    return id;
  }

  /// Returns a callable's number. Beyond callable_versions_max hashes of a name, returns that of
  /// the name without a hash. Returns nothing if the table is full. REQUIRES: `f` is a function,
  /// and the name is not empty.
  std::optional<function_id> intern(function_id f, callable_name const& called);
  /// Returns the function that workers declare and queues serve.
  function_id served(function_id f) const { return (*this)[f].served; }
  /// Sets function and callable from the number in a record.
  void name(function_id f, closure_spec& into) const {
    into.function = served(f);
    into.callable = into.function == f ? 0 : raw(f);
  }
  /// Forgets callables that are false in `used`, and adds their counts to their functions.
  /// REQUIRES: `used` has an element for each number.
  void forget_unused(std::vector<bool> used);
  /// Includes callables.
  function_entry totals(function_id f) const;
  std::size_t numbers() const { return entries_.size(); }
  std::size_t callables() const { return callables_.size(); }

  /// The next search for unused callables. It visits all closures, too much for every request.
  time_point next_check{};

  function_entry& operator[](function_id f) { return *by_id_[raw(f)]; }
  function_entry const& operator[](function_id f) const { return *by_id_[raw(f)]; }
  /// Returns nothing if the name was never used.
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
  std::deque<function_entry> entries_;  // a deque keeps names and views of them valid
  std::vector<function_entry*> by_id_;  // because indexing a deque needs a division
  std::unordered_map<std::string_view, function_id> ids_;
  std::unordered_map<std::string, function_id> callables_;
  std::vector<function_id> free_;  // of forgotten callables
};

}  // namespace muster::core
