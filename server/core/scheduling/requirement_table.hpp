// Assigns numbers to the requirements of closures. A number is valid while a session's queue uses
// it. Used only on the engine thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "server/core/api/ids.hpp"

namespace muster::core {

struct requirement {
  std::string job;          // the task's job; any job if empty
  std::int64_t index = -1;  // the task's index; -1 means any task of the job
  std::vector<std::pair<std::string, std::string>> labels;  // sorted; all must match
  // Sorted; allocated while the closure runs.
  std::vector<std::pair<std::string, std::uint32_t>> resources;
  std::vector<per_worker_id> per_worker;  // sorted; all must be built

  bool empty() const {
    return job.empty() && labels.empty() && resources.empty() && per_worker.empty();
  }
  requirement besides_resources() const { return {job, index, labels, {}, per_worker}; }
  auto operator<=>(requirement const&) const = default;
};

class requirement_table {
 public:
  /// Maximum number of requirements in use. At the limit, closures with a new requirement are
  /// refused with RESOURCE_EXHAUSTED; see scheduler::room_for.
  static constexpr std::size_t max = 4'096;

  bool knows(requirement const& r) const { return numbers_.contains(r); }
  /// Returns the requirement's number, and whether the number is new. The caller must call hold()
  /// for a new number.
  std::pair<std::uint32_t, bool> intern(requirement r) {
    auto const [it, added] = numbers_.try_emplace(std::move(r), 0);
    if (!added) return {it->second, false};
    std::uint32_t number = 0;
    if (free_.empty()) {
      entries_.emplace_back();
      number = static_cast<std::uint32_t>(entries_.size());
    } else {
      number = free_.back();
      free_.pop_back();
    }
    it->second = number;
    entries_[number - 1] = {&it->first, 0};
    return {number, true};
  }
  void hold(std::uint32_t number) { ++entries_[number - 1].holders; }
  /// Returns true if this was the last holder, so that the number is free.
  bool release(std::uint32_t number) {
    auto& e = entries_[number - 1];
    check(e.holders > 0, "a requirement must not be released more often than it was acquired");
    if (--e.holders > 0) return false;
    numbers_.erase(numbers_.find(*e.what));
    e.what = nullptr;
    free_.push_back(number);
    return true;
  }

  requirement const& operator[](std::uint32_t number) const { return *entries_[number - 1].what; }
  std::size_t size() const { return numbers_.size(); }
  template <class F>
  void for_each(F f) const {
    if (numbers_.empty()) return;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].what) f(static_cast<std::uint32_t>(i + 1), *entries_[i].what);
  }

 private:
  struct entry {
    requirement const* what = nullptr;  // null if the number is free
    std::uint32_t holders = 0;
  };
  std::map<requirement, std::uint32_t> numbers_;
  std::vector<entry> entries_;
  std::vector<std::uint32_t> free_;
};

}  // namespace muster::core
