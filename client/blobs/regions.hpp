// Memory for large values that is reused when no other process uses it. New memory is expensive:
// allocating, clearing and mapping its pages takes as long as writing to it.
//
// A process keeps the last few regions that it has created. Other processes can only read these
// regions. The kernel grants a write lease only if no other process, including forked processes,
// has a descriptor or mapping. A label at the end names the value (memory.hpp). Before a region is
// reused, its label is removed, so that a process that opens the region late through /proc does not
// read a different value.
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
  /// Maximum number of unused regions.
  std::size_t free_max = 4;
  std::chrono::milliseconds free_stays{5'000};
  /// Maximum number of tracked regions that other processes use. At this limit, the store stops
  /// tracking the oldest regions; the processes that use these regions keep them.
  std::size_t used_max = 8;
  std::chrono::milliseconds look_every{1'000};
};

/// A memfd and its owner's writable mapping. Not thread-safe.
class region {
 public:
  using clock = std::chrono::steady_clock;

  /// Throws std::system_error.
  region(std::string_view name, memory_parts parts, std::size_t size);
  ~region();
  region(region const&) = delete;

  std::size_t room() const { return room_; }
  int descriptor() const { return fd_.get(); }
  /// Precondition: is_free().
  void write(std::string_view name, memory_parts parts, std::size_t size);
  /// Returns a read-only descriptor. Throws std::system_error.
  file_descriptor given();
  /// Returns true if no other process uses the region. If so, also removes the label, so that no
  /// process can obtain the region.
  bool is_free();
  /// Precondition: is_free() returned true, and given() has not been called since then.
  clock::time_point free_since() const { return *free_since_; }

 private:
  std::size_t room_ = 0;
  file_descriptor fd_;
  closed_in_forks mark_;
  char* at_ = nullptr;
  bool populated_ = false;
  std::optional<clock::time_point> free_since_;
};

/// The regions of a process. Thread-safe. A background thread drops unused regions, and ends when
/// all are dropped.
class region_store {
 public:
  explicit region_store(region_limits limits = {}) : shared_(std::make_shared<state>(limits)) {}
  ~region_store() { clear(); }
  region_store(region_store const&) = delete;

  /// A forked process has a separate store.
  static region_store& of_this_process();
  /// Must be called in a newly forked process.
  static void forget_in_fork();
  /// Returns true if the kernel grants a write lease exactly when no other process has access to
  /// the memory.
  static bool can_be();

  /// Returns a read-only descriptor of memory that contains `parts`. Keeps at most `free_max` bytes
  /// of unused regions. Throws std::system_error, for example if memory is full.
  file_descriptor make(std::string_view name, memory_parts parts, std::size_t free_max);
  void clear();
  std::size_t size() const;

 private:
  using regions = std::vector<std::unique_ptr<region>>;
  struct state {
    explicit state(region_limits l) : limits(l) {}
    // The following members require the mutex.
    std::unique_ptr<region> fitting(std::size_t size);
    regions too_many();

    region_limits const limits;
    std::mutex mutex;  // protects the following members
    regions all;       // all regions, ordered by last write
    std::size_t free_max = 0;
    bool tended = false;
  };
  static void tend(std::shared_ptr<state> const& of);

  std::shared_ptr<state> const shared_;
};

}  // namespace muster::detail
