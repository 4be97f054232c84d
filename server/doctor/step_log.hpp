// Records when ranks completed their steps. Packs the spans of a step table by rank into segments,
// which the history on disk stores unchanged. Path of a span:
//
//   step_table::reported ──► add ──► open spans ──► segments ──► of, take_new
//
// A step that directly follows another step takes about 4 bytes. Owned by a hub; used only on the
// engine thread; pure. Segments are immutable, so any thread can read them.
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

struct step_span {
  std::uint32_t rank = 0;
  std::uint32_t count = 1;
  std::uint64_t step = 0;
  core::time_point ended{};
  core::duration took{};
  core::duration longest{};  // duration of the longest step; if unknown, the mean duration

  bool operator==(step_span const&) const = default;
};

/// Spans of one attempt, ordered by rank and, within a rank, by time.
struct step_segment {
  core::program_id program{};
  std::uint32_t attempt = 0;
  core::time_point made{};  // strictly increasing within an attempt
  core::time_point first{}, last{};
  std::uint32_t spans = 0;
  std::string bytes{};

  bool operator==(step_segment const&) const = default;
};

/// Packs spans. REQUIRES: the spans of each rank are in order.
std::string packed(std::vector<step_span> spans, core::time_point base);
/// Stops at malformed data.
void unpack(std::string_view bytes, core::time_point base,
            std::function<void(step_span const&)> const& take);

class step_log {
 public:
  using segment = std::shared_ptr<step_segment const>;
  /// Enough for about 4 million steps. At the limit, the oldest segment is dropped.
  static constexpr std::size_t bytes_max = std::size_t{16} << 20;
  /// At the limit, all open spans are packed.
  static constexpr std::size_t open_max = 16'384;
  /// Open spans older than this are packed.
  static constexpr core::duration open_for = std::chrono::seconds(10);
  /// A rank's consecutive steps shorter than short_step are combined, up to sum_max in total.
  static constexpr core::duration short_step = std::chrono::milliseconds(20),
                                  sum_max = std::chrono::milliseconds(100);

  /// @param since Earlier steps are ignored.
  explicit step_log(core::time_point since = {}) : since_(since) {}

  void add(core::time_point now, core::program_id program, std::uint32_t attempt,
           std::vector<step_span> const& spans);
  void forget(core::program_id program);

  /// Packs open spans and returns the program's segments, oldest first.
  std::vector<segment> of(core::program_id program, core::time_point now);
  /// Packs open spans and returns the segments made since the last call.
  std::vector<segment> take_new(core::time_point now);
  core::time_point since() const { return since_; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct open_attempt {
    core::time_point since{};
    std::vector<step_span> spans;
    std::map<std::uint32_t, std::size_t> last;
  };
  using name = std::pair<core::program_id, std::uint32_t>;

  void pack_all(core::time_point now);
  static std::size_t cost(step_segment const& s) { return sizeof s + 64 + s.bytes.size(); }

  core::time_point since_;
  std::map<name, open_attempt> open_;
  std::size_t open_spans_ = 0;
  std::deque<segment> segments_;
  std::size_t taken_ = 0;  // segments that take_new() has returned
  std::size_t bytes_ = 0;
  core::time_point made_{};
};

}  // namespace muster::doctor
