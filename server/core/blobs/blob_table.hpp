// The blobs that the server stores: contents of up to 1 GiB, identified by SHA-256, that arguments
// and values refer to. A core::blob is something else: the bytes of one argument or value. This
// table contains only names and sizes. Owned by the blob_store, which stores the bytes; used on its
// thread.
//
//   (nothing) ──put──► stored, leased ──hold──► stored, held ──release──► stored, left ──► removed
//                            └────────────────────── kept ──────────────────────────────────▲
//
// A blob is held while values refer to it, and is never removed then. Other blobs are removed
// `kept` after the last put, touch or release, or sooner if the budget needs the space. First to be
// removed are blobs that were held and not touched since, oldest first. Next are blobs whose last
// put or touch was at least `fresh` ago: until then the client is probably about to submit
// arguments, or a worker to return a value, that refers to them.
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
  /// Includes blobs that are being put. At the limit: RESOURCE_EXHAUSTED.
  std::uint64_t bytes_max = std::uint64_t{4} << 30;
  /// Above it: OUT_OF_RANGE.
  std::uint64_t blob_bytes_max = std::uint64_t{1} << 30;
  /// Includes blobs that are held but not stored. Further ones are not put (RESOURCE_EXHAUSTED) and
  /// not held.
  std::size_t blobs_max = 100'000;
  duration kept = std::chrono::minutes(10);
  duration fresh = std::chrono::seconds(30);
};

struct blob_counts {
  std::uint64_t blobs = 0;
  std::uint64_t bytes = 0;  // includes blobs that are being put
  std::uint64_t held = 0;   // stored, and values refer to them
  std::uint64_t held_bytes = 0;
  std::uint64_t bytes_max = 0;
};

class blob_table {
 public:
  explicit blob_table(blob_limits limits) : limits_(limits) {}

  /// Reserves space, and removes other blobs if necessary. REQUIRES: take_removed() is called
  /// afterwards.
  muster::status reserve(std::uint64_t bytes, time_point now);
  void give_back(std::uint64_t bytes) { reserved_ -= bytes, used_.take(bytes); }
  /// Adds a blob with a reservation of `size`. If it was stored already, gives the reservation back
  /// and returns false.
  bool put(std::string_view hash, std::uint64_t size, time_point now);
  /// Restores a stored blob from an earlier process, regardless of limits. Returns false if it was
  /// stored already.
  bool restore(std::string_view hash, std::uint64_t size, time_point now);

  /// Returns whether the blob is stored. If so, it counts as put just now.
  bool touch(std::string_view hash, time_point now);
  /// Adds a reference. Returns false if the blob is not stored (yet).
  bool hold(std::string_view hash);
  /// Returns whether it is held, stored or not. Holds beyond blobs_max do not count.
  bool is_held(std::string_view hash) const;
  void release(std::string_view hash, time_point now);
  /// Protects a blob from removal. Unlike a hold, a pin does not affect its queue afterwards.
  void pin(std::string_view hash);
  void unpin(std::string_view hash, time_point now);

  std::optional<std::uint64_t> size_of(std::string_view hash) const;

  /// Removes blobs that nothing refers to and that were unused for `kept`.
  void sweep(time_point now);
  /// Returns removed blobs, whose contents the caller deletes.
  std::vector<std::string> take_removed() { return std::exchange(removed_, {}); }

  blob_counts counts() const;
  blob_limits const& limits() const { return limits_; }
  /// Returns an error, or an empty string; for tests.
  std::string invalid() const;

 private:
  // When the blob became unreferenced, and a number for its order.
  using place = std::pair<time_point, std::uint64_t>;
  using order = std::map<place, std::string>;
  struct entry {
    std::uint64_t size = 0;
    std::uint32_t holds = 0;
    std::uint32_t pins = 0;
    bool there = false;
    bool left = false;  // it was held, and not touched since
    place at{};         // position in fresh_ or left_ while it is neither held nor pinned
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
  order fresh_, left_;  // all stored blobs that are neither held nor pinned
  std::vector<std::string> removed_;
  shared_budget used_;  // includes reservations
  std::uint64_t reserved_ = 0, there_ = 0, held_ = 0, held_bytes_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace muster::core
