// Bytes that several keep within one limit: each may have what the others leave, and an even share
// of it whatever the others have. So one that was full before another came is over its limit then,
// and makes room in its next step.
//
// The limits, what happens when one is reached, and where:
//
//   --value-bytes-max         of values in memory: the oldest are dropped, single ones with a disk,
//                             else finished jobs; without any nothing more is taken (429).
//                             session_ends::keep_within_limits
//   --spill-above             of them, with a disk: the oldest go there. value_store::write
//   --spill-bytes-max         of values on the disk: the oldest are dropped. keep_within_limits
//   --blob-bytes-max          of blobs, wherever they are: those go that nobody needs; if that is
//                             not enough, the new one is refused (429). blob_table::reserve
//   --session-rows-bytes-max  of rows: the oldest go. ended_rows
//
// A disk that is full before takes no value, so that it stays in memory (value_store::written), and
// no blob (507, blob_files). Owned by server_wide, that of blobs by the blob_table; one thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace muster::core {

class shared_budget {
 public:
  void add(std::uint64_t bytes) { used_ += bytes; }
  void take(std::uint64_t bytes) { used_ -= bytes; }
  std::uint64_t used() const { return used_; }
  /// Whether there is room for so many more.
  bool fits(std::uint64_t bytes, std::uint64_t limit) const { return used_ + bytes <= limit; }

 private:
  friend class budget_share;
  std::uint64_t used_ = 0;
  std::uint64_t shares_ = 0;
};

/// What one of them has, which goes with it. REQUIRES: the budget outlives it.
class budget_share {
 public:
  explicit budget_share(shared_budget& all) : all_(all) { ++all_.shares_; }
  ~budget_share() { --all_.shares_, all_.take(used_); }
  budget_share(budget_share const&) = delete;

  void add(std::uint64_t bytes) { used_ += bytes, all_.add(bytes); }
  void take(std::uint64_t bytes) { used_ -= bytes, all_.take(bytes); }
  std::uint64_t used() const { return used_; }
  /// How much of `limit` it may have now.
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
