// A byte limit that several users share. Each user may use the bytes that the other users leave
// free, and is always entitled to an even share. A user that exceeds its share because another user
// was added frees memory in its next step.
//
// Limits, the action at each limit, and the function that enforces it:
//
//   --value-bytes-max         memory: drops the oldest values (with a disk) or finished jobs, or
//                             refuses submissions (429). session_ends::keep_within_limits
//   --spill-above             memory: writes the oldest values to disk. value_store::write
//   --spill-bytes-max         disk: drops the oldest values. keep_within_limits
//   --blob-bytes-max          blobs: removes unused blobs, or refuses the new blob (429).
//                             blob_table::reserve
//   --session-rows-bytes-max  rows: removes the oldest rows. ended_rows
//
// If the disk is full below these limits, values stay in memory (value_store::written), and blobs
// are refused (507, blob_files). The blob_table owns the blob budget; server_wide owns the other
// budgets. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>

namespace muster::core {

class shared_budget {
 public:
  void add(std::uint64_t bytes) { used_ += bytes; }
  void take(std::uint64_t bytes) { used_ -= bytes; }
  std::uint64_t used() const { return used_; }
  bool fits(std::uint64_t bytes, std::uint64_t limit) const { return used_ + bytes <= limit; }

 private:
  friend class budget_share;
  std::uint64_t used_ = 0;
  std::uint64_t shares_ = 0;
};

/// The share of one user, returned to the budget on destruction. REQUIRES: the budget outlives the
/// share.
class budget_share {
 public:
  explicit budget_share(shared_budget& all) : all_(all) { ++all_.shares_; }
  ~budget_share() { --all_.shares_, all_.take(used_); }
  budget_share(budget_share const&) = delete;

  void add(std::uint64_t bytes) { used_ += bytes, all_.add(bytes); }
  void take(std::uint64_t bytes) { used_ -= bytes, all_.take(bytes); }
  std::uint64_t used() const { return used_; }
  /// Returns the number of `limit` bytes that this user may use now.
  std::uint64_t most(std::uint64_t limit) const {
    auto const others = all_.used_ - used_;
    return std::max(limit / all_.shares_, limit - std::min(limit, others));
  }
  bool over(std::uint64_t limit) const { return used_ > most(limit); }

 private:
  shared_budget& all_;
  std::uint64_t used_ = 0;
};

}  // namespace muster::core
