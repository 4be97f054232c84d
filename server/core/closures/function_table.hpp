// Assigns numbers to function names, and counts closures for each. Function names are never
// removed; config::functions_max limits their number. Used only on the engine thread.
//
// A function such as "python:3.11" calls a callable that it receives. A callable has its own
// number, under which its closures are counted and displayed. Queues, workers and placement use
// only its function, `served(f)`. At config::callables_max, unreferenced callables are removed. If
// no callable can be removed, further closures are displayed under their function.
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
  std::uint32_t workers = 0;
  bool ever_had = false;
  std::uint64_t waiting = 0;  // waiting for a time or an input; not included in `queued`
  std::uint64_t queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
  // The following members are used only for callables. If `name` is empty, the number is free.
  bool callable = false;
  function_id served{};  // function that workers provide; a function names itself
  std::string hash{};
  // For a callable without a hash, the number of callables with the same name and a hash.
  std::uint32_t versions = 0;
};

class function_table {
 public:
  function_table(config const& c, changes& out) : config_(c), changes_(out) {}

  result<function_id> intern(std::string_view name) {
    if (auto const it = ids_.find(name); it != ids_.end()) return it->second;
    if (name.empty()) return status{code::invalid_argument, "the function name is empty"};
    if (name.size() > config_.function_name_bytes_max)
      return status{code::invalid_argument, "the function name has " + std::to_string(name.size()) +
                                                " bytes; the limit is " +
                                                std::to_string(config_.function_name_bytes_max)};
    for (unsigned char const c : name)
      if (c < 0x20 || c == 0x7f)
        return status{code::invalid_argument, "the function name contains a control character"};
    if (ids_.size() >= config_.functions_max)
      return status{code::resource_exhausted, "the server already knows " +
                                                  std::to_string(ids_.size()) +
                                                  " function names, which is the limit"};
    auto const id = function_id{static_cast<std::uint32_t>(entries_.size())};
    entries_.push_back({});
    entries_.back().name = name;
    entries_.back().served = id;
    learn(entries_.back());
    changes_.functions.push_back({id, true, false, id, std::string(name), {}});
    return id;
  }

  /// Returns a callable's number. If the name has callable_versions_max hashes, returns the number
  /// of the name without a hash. Returns nothing if the table is full. REQUIRES: `f` is a function,
  /// and the name is not empty.
  std::optional<function_id> intern(function_id f, callable_name const& called);
  function_id served(function_id f) const { return (*this)[f].served; }
  void name(function_id f, closure_spec& into) const {
    into.function = served(f);
    into.callable = into.function == f ? 0 : raw(f);
  }
  /// Removes the callables that are false in `used`, and adds their counts to their functions.
  /// REQUIRES: `used` has one element per number.
  void forget_unused(std::vector<bool> used);
  /// Returns counts that include the function's callables.
  function_entry totals(function_id f) const;
  std::size_t numbers() const { return entries_.size(); }
  std::size_t callables() const { return callables_.size(); }

  /// Earliest time of the next search for unused callables, which visits all closures.
  time_point next_check{};

  function_entry& operator[](function_id f) { return *by_id_[raw(f)]; }
  function_entry const& operator[](function_id f) const { return *by_id_[raw(f)]; }
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
  std::deque<function_entry> entries_;  // a deque keeps views of the names valid
  std::vector<function_entry*> by_id_;  // indexing the deque would need a division
  std::unordered_map<std::string_view, function_id> ids_;
  std::unordered_map<std::string, function_id> callables_;
  std::vector<function_id> free_;
};

}  // namespace muster::core
