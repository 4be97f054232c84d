// Names and sizes of the blobs that the server stores. Arguments and values refer to blobs. A blob
// has up to 1 GiB and is identified by its SHA-256. (A core::blob is different: it contains the
// bytes of one argument or value.) Used only on the blob_store's thread. States:
//
//   (nothing) ──put──► stored, leased ──hold──► stored, held ──release──► stored, left ──► removed
//                            └────────────────────── kept ──────────────────────────────────▲
//
// A blob that values refer to is held and never removed. Other blobs are removed when `kept` has
// passed since their last put, touch or release, or earlier if the budget needs the space. In that
// case, blobs that were held and not touched afterwards are removed first, then blobs that were put
// or touched at least `fresh` ago, oldest first. Newer blobs are kept, because a client or worker
// is probably about to refer to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "server/core/api/shared_budget.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

struct blob_limits {
  /// Maximum size of all blobs, including blobs that are being uploaded. At the limit, uploads fail
  /// with RESOURCE_EXHAUSTED.
  std::uint64_t bytes_max = std::uint64_t{4} << 30;
  /// Maximum size of a blob. Larger blobs are refused with OUT_OF_RANGE.
  std::uint64_t blob_bytes_max = std::uint64_t{1} << 30;
  /// Maximum number of blobs, including held blobs that are not stored. At the limit, a put fails
  /// with RESOURCE_EXHAUSTED, and a hold is ignored.
  std::size_t blobs_max = 100'000;
  duration kept = std::chrono::minutes(10);
  duration fresh = std::chrono::seconds(30);
};

struct blob_counts {
  std::uint64_t blobs = 0;
  std::uint64_t bytes = 0;
  std::uint64_t held = 0;
  std::uint64_t held_bytes = 0;
  std::uint64_t bytes_max = 0;
};

class blob_table {
 public:
  explicit blob_table(blob_limits limits) : limits_(limits) {}

  /// Reserves space, and removes other blobs if necessary. REQUIRES: the caller calls
  /// take_removed() afterwards.
  muster::status reserve(std::uint64_t bytes, time_point now);
  void give_back(std::uint64_t bytes) { reserved_ -= bytes, used_.take(bytes); }
  /// Stores a blob in a reservation of `size` bytes. Returns false if the blob was already stored.
  bool put(std::string_view hash, std::uint64_t size, time_point now);
  /// Restores a blob from an earlier server process, ignoring limits. Returns false if the blob was
  /// already stored.
  bool restore(std::string_view hash, std::uint64_t size, time_point now);

  /// Returns whether the blob is stored. If so, restarts the time until its removal.
  bool touch(std::string_view hash, time_point now);
  /// Prevents the blob's removal. Returns false if the blob is not stored.
  bool hold(std::string_view hash);
  bool is_held(std::string_view hash) const;
  void release(std::string_view hash, time_point now);
  /// Protects a blob from removal. Unlike hold(), a pin does not change the later removal time.
  void pin(std::string_view hash);
  void unpin(std::string_view hash, time_point now);

  std::optional<std::uint64_t> size_of(std::string_view hash) const;

  void sweep(time_point now);
  /// The caller must delete the bytes of the returned blobs.
  std::vector<std::string> take_removed() { return std::exchange(removed_, {}); }

  blob_counts counts() const;
  blob_limits const& limits() const { return limits_; }
  std::string invalid() const;

 private:
  using place = std::pair<time_point, std::uint64_t>;
  using order = std::map<place, std::string>;
  struct entry {
    std::uint64_t size = 0;
    std::uint32_t holds = 0;
    std::uint32_t pins = 0;
    bool there = false;
    bool left = false;  // the blob was held and has not been touched since
    place at{};
  };
  using entries = std::unordered_map<std::string, entry>;

  entry& known(std::string_view hash) { return all_[std::string(hash)]; }
  bool fits(std::uint64_t bytes) const { return used_.fits(bytes, limits_.bytes_max); }
  order& line_of(entry const& e) { return e.left ? left_ : fresh_; }
  void enqueue_entry(entries::iterator it, time_point now);
  void dequeue_entry(entry& e);
  void drop_first(order& line);

  blob_limits const limits_;
  entries all_;
  order fresh_, left_;  // stored blobs that are neither held nor pinned
  std::vector<std::string> removed_;
  shared_budget used_;
  std::uint64_t reserved_ = 0, there_ = 0, held_ = 0, held_bytes_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace muster::core
