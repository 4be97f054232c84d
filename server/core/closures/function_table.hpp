// Function names as small numbers, with what is counted for each. Names are never forgotten, their
// number is limited (config::functions_max). Owned by the closure book.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/core/api/config.hpp"
#include "server/core/api/model.hpp"

namespace muster::core {

struct function_entry {
  std::string name;
  std::uint32_t workers = 0;  // connected ones that have it
  bool ever_had = false;      // by some worker
  std::uint64_t waiting = 0;  // for a time or an input; not among the queued
  std::uint64_t queued = 0, running = 0, succeeded = 0, failed = 0, cancelled = 0;
};

class function_table {
 public:
  explicit function_table(config const& c) : config_(c) {}

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
    if (entries_.size() >= config_.functions_max)
      return status{
          code::resource_exhausted,
          "the server knows " + std::to_string(entries_.size()) + " function names, its limit"};
    auto const id = function_id{static_cast<std::uint32_t>(entries_.size())};
    entries_.push_back({});
    entries_.back().name = name;
    learn(entries_.back());
    return id;
  }

  function_entry& operator[](function_id f) { return *by_id_[raw(f)]; }
  function_entry const& operator[](function_id f) const { return *by_id_[raw(f)]; }
  /// Nothing when nobody has ever named it.
  std::optional<function_id> find(std::string_view name) const {
    auto const it = ids_.find(name);
    return it == ids_.end() ? std::nullopt : std::optional(it->second);
  }
  bool knows(function_id f) const { return raw(f) < entries_.size(); }
  std::deque<function_entry> const& all() const { return entries_; }

  template <class Archive>
  void walk(Archive& a) {
    a(entries_);
    if constexpr (Archive::loading) {
      ids_.clear();
      by_id_.clear();
      for (auto& f : entries_) learn(f);
    }
  }

 private:
  void learn(function_entry& f) {
    ids_.emplace(f.name, function_id{static_cast<std::uint32_t>(by_id_.size())});
    by_id_.push_back(&f);
  }

  config const& config_;
  std::deque<function_entry> entries_;  // a deque keeps the names, and views of them, in place
  std::vector<function_entry*> by_id_;  // look-up in a deque divides
  std::unordered_map<std::string_view, function_id> ids_;
};

}  // namespace muster::core
