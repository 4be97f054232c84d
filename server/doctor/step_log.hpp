// When ranks made their steps: what a step table has read off reports, as spans, packed by rank
// into segments that the history on disk takes as they are.
//
//   step_table::reported ──► add ──► open spans ──► segments ──► of, take_new
//
// A step that follows the one before takes about 4 bytes. Short steps of a rank are put together.
// Owned by a hub; engine thread only; pure. Limits: open_max, bytes_max; segments are shared and
// do not change, so any thread may read one.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/api/programs.hpp"
#include "server/core/api/time.hpp"

namespace muster::doctor {

/// A step of a rank, or several that follow each other.
struct step_span {
  std::uint32_t rank = 0;
  std::uint32_t count = 1;
  std::uint64_t step = 0;    // the last of them
  core::time_point ended{};  // when it was reached
  core::duration took{};     // of all together
  core::duration longest{};  // of one of them; their mean where nothing else is known

  bool operator==(step_span const&) const = default;
};

/// Spans of an attempt, by rank, those of a rank in their order.
struct step_segment {
  core::program_id program{};
  std::uint32_t attempt = 0;
  core::time_point made{};           // no two of one attempt have the same, later ones a later one
  core::time_point first{}, last{};  // its spans begin and end within this
  std::uint32_t spans = 0;
  std::string bytes{};

  bool operator==(step_segment const&) const = default;
};

/// REQUIRES: spans of one rank are in their order.
std::string packed(std::vector<step_span> spans, core::time_point base);
/// Each span, until the bytes are over or cannot be read.
void unpack(std::string_view bytes, core::time_point base,
            std::function<void(step_span const&)> const& take);

class step_log {
 public:
  using segment = std::shared_ptr<step_segment const>;
  /// Of segments, with what each costs beside its bytes. Full: the oldest goes. Some 4 million
  /// steps.
  static constexpr std::size_t bytes_max = std::size_t{16} << 20;
  /// Spans of all attempts that are in no segment yet. Full: they are packed.
  static constexpr std::size_t open_max = 16'384;
  /// After so long they are packed, too.
  static constexpr core::duration open_for = std::chrono::seconds(10);
  /// Steps of a rank that are shorter are put together, for at most `sum_max`.
  static constexpr core::duration short_step = std::chrono::milliseconds(20),
                                  sum_max = std::chrono::milliseconds(100);

  /// Of what was before `since` it knows nothing.
  explicit step_log(core::time_point since = {}) : since_(since) {}

  void add(core::time_point now, core::program_id program, std::uint32_t attempt,
           std::vector<step_span> const& spans);
  void forget(core::program_id program);

  /// What is known of a program, in the order in which it came; what is open is packed for it.
  std::vector<segment> of(core::program_id program, core::time_point now);
  /// Packs what is open, and gives what was packed since the last call and is still there.
  std::vector<segment> take_new(core::time_point now);
  /// All that ended later is in segments, or open.
  core::time_point since() const { return since_; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct open_attempt {
    core::time_point since{};
    std::vector<step_span> spans;
    std::map<std::uint32_t, std::size_t> last;  // of each rank, its place
  };
  using name = std::pair<core::program_id, std::uint32_t>;

  void pack_all(core::time_point now);
  static std::size_t cost(step_segment const& s) { return sizeof s + 64 + s.bytes.size(); }

  core::time_point since_;
  std::map<name, open_attempt> open_;
  std::size_t open_spans_ = 0;
  std::deque<segment> segments_;
  std::size_t taken_ = 0;  // so many of the oldest
  std::size_t bytes_ = 0;
  core::time_point made_{};  // the last one
};

}  // namespace muster::doctor
