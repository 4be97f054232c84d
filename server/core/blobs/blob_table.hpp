// Which blobs the server has: contents of up to 1 GiB by their SHA-256, that arguments and values
// name. Not core::blob, which is the bytes of one argument or value; this knows names and sizes
// only. Owned by the blob_store, which has the bytes; its thread.
//
//   (nothing) ──put──► there, leased ──hold──► there, held ──release──► there, left ──► gone
//                            └───────────────────── kept ───────────────────────────────▲
//
// A blob that values name is held and stays. Others go `kept` after they were put, touched or
// released; sooner when the budget needs their room: first those that were held and are not touched
// since, the oldest first, then others whose last put or touch is `fresh` ago, since whoever did it
// has arguments that name it, or is about to answer with it.
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
  /// Of all of them together, what is being put included. More: RESOURCE_EXHAUSTED.
  std::uint64_t bytes_max = std::uint64_t{4} << 30;
  /// Of one. More: OUT_OF_RANGE.
  std::uint64_t blob_bytes_max = std::uint64_t{1} << 30;
  /// Names, those that are held and not there included. More are not put
  /// (RESOURCE_EXHAUSTED) and not held.
  std::size_t blobs_max = 100'000;
  duration kept = std::chrono::minutes(10);
  duration fresh = std::chrono::seconds(30);
};

struct blob_counts {
  std::uint64_t blobs = 0;  // there
  std::uint64_t bytes = 0;  // of these, and of what is being put
  std::uint64_t held = 0;   // blobs that values name
  std::uint64_t held_bytes = 0;
  std::uint64_t bytes_max = 0;
};

class blob_table {
 public:
  explicit blob_table(blob_limits limits) : limits_(limits) {}

  /// Room for so many more bytes of something that is being put. REQUIRES: take_gone is called
  /// afterwards, whatever it gives.
  muster::status reserve(std::uint64_t bytes, time_point now);
  void give_back(std::uint64_t bytes) { reserved_ -= bytes, used_.take(bytes); }
  /// It is there, of `size` bytes that were reserved. False: it was there before, and the room is
  /// given back.
  bool put(std::string_view hash, std::uint64_t size, time_point now);
  /// One that an earlier process has left; whatever the limits. The same.
  bool restore(std::string_view hash, std::uint64_t size, time_point now);

  /// Whether it is there; then it counts as put just now.
  bool touch(std::string_view hash, time_point now);
  /// A value names it, once more. False: it is not there, perhaps not yet.
  bool hold(std::string_view hash);
  /// It is held, also while it is not there: what hold() has found no room for is not.
  bool is_held(std::string_view hash) const;
  /// The reverse of one hold.
  void release(std::string_view hash, time_point now);
  /// Nothing names it, but it is in use for the moment: as a hold, that leaves no trace.
  void pin(std::string_view hash);
  void unpin(std::string_view hash, time_point now);

  std::optional<std::uint64_t> size_of(std::string_view hash) const;

  /// Lets go of what nobody has named for `kept`.
  void sweep(time_point now);
  /// Names of what went, whose contents are to be removed.
  std::vector<std::string> take_gone() { return std::exchange(gone_, {}); }

  blob_counts counts() const;
  blob_limits const& limits() const { return limits_; }
  /// Empty, or what does not fit together; for tests.
  std::string invalid() const;

 private:
  // Unreferenced since, and a number that tells those of one time apart.
  using place = std::pair<time_point, std::uint64_t>;
  using order = std::map<place, std::string>;
  struct entry {
    std::uint64_t size = 0;
    std::uint32_t holds = 0;
    std::uint32_t pins = 0;
    bool there = false;
    bool left = false;  // it was held, and not touched since
    place at{};         // in fresh_ or left_, while nobody holds it
  };
  using entries = std::unordered_map<std::string, entry>;

  entry& known(std::string_view hash) { return all_[std::string(hash)]; }
  bool fits(std::uint64_t bytes) const { return used_.fits(bytes, limits_.bytes_max); }
  order& line_of(entry const& e) { return e.left ? left_ : fresh_; }
  void set_down(entries::iterator it, time_point now);
  void pick_up(entry& e);
  void drop_first(order& line);

  blob_limits const limits_;
  entries all_;
  order fresh_, left_;  // what is there and nobody holds; together all of that
  std::vector<std::string> gone_;
  shared_budget used_;  // what is reserved, too
  std::uint64_t reserved_ = 0, there_ = 0, held_ = 0, held_bytes_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace muster::core
