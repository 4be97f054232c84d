// Memory for large values that its maker uses again, once nobody else has it any more.
//
// New memory costs as much as writing to it: its pages are allocated, cleared and mapped. So the
// last few regions that a process has made stay with it. Others have them for reading alone, and
// the kernel reports whether anybody still has one (a descriptor, a mapping, also of a forked
// process): only then it grants no lease for writing. The content is named by a label at the end
// (memory.hpp), which is removed first, so a process that opens a region late, by its number in
// /proc, is not given other bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "client/blobs/forked.hpp"
#include "client/blobs/memory.hpp"

namespace muster::detail {

struct region_limits {
  /// That nobody has.
  std::size_t free_max = 4;
  std::chrono::milliseconds free_stays{5'000};
  /// That others have and which are looked after. The oldest beyond goes to its holders alone.
  std::size_t used_max = 8;
  std::chrono::milliseconds look_every{1'000};
};

/// A memfd and the mapping by which its maker writes to it. One thread at a time.
class region {
 public:
  using clock = std::chrono::steady_clock;

  /// With this content, which others may have. Errors: std::system_error.
  region(std::string_view name, memory_parts parts, std::size_t size);
  ~region();
  region(region const&) = delete;

  /// Bytes of the largest content.
  std::size_t room() const { return room_; }
  int descriptor() const { return fd_.get(); }
  /// Writes another content. REQUIRES: it is free.
  void write(std::string_view name, memory_parts parts, std::size_t size);
  /// A descriptor for reading. Errors: std::system_error.
  file_descriptor given();
  /// Whether nobody else has it. Then nobody will: its label is removed.
  bool is_free();
  /// REQUIRES: is_free() was true, and it was not given since.
  clock::time_point free_since() const { return *free_since_; }

 private:
  std::size_t room_ = 0;
  file_descriptor fd_;
  closed_in_forks mark_;
  char* at_ = nullptr;
  bool populated_ = false;
  std::optional<clock::time_point> free_since_;
};

/// The regions of a process. Any thread. A thread of its own drops what stays unused; it ends with
/// the last region.
class region_store {
 public:
  explicit region_store(region_limits limits = {}) : shared_(std::make_shared<state>(limits)) {}
  ~region_store() { clear(); }
  region_store(region_store const&) = delete;

  /// The store of this process; a forked process has another.
  static region_store& of_this_process();
  /// For a process that was just forked.
  static void forget_in_fork();
  /// Whether this system grants a lease to the process that has memory alone, and to nobody else.
  static bool can_be();

  /// A descriptor of the parts. At most `free_max` bytes stay that nobody has. Errors:
  /// std::system_error, as when memory is full.
  file_descriptor make(std::string_view name, memory_parts parts, std::size_t free_max);
  /// Leaves all to those that have it.
  void clear();
  /// How many are looked after.
  std::size_t size() const;

 private:
  using regions = std::vector<std::unique_ptr<region>>;
  // The thread that looks after regions has it, too.
  struct state {
    explicit state(region_limits l) : limits(l) {}
    // REQUIRE the mutex.
    std::unique_ptr<region> fitting(std::size_t size);
    regions too_many();

    region_limits const limits;
    std::mutex mutex;  // protects all below
    regions all;       // the one that was written first goes first
    std::size_t free_max = 0;
    bool tended = false;
  };
  static void tend(std::shared_ptr<state> const& of);

  std::shared_ptr<state> const shared_;
};

}  // namespace muster::detail
