// A chart of the steps of a program's ranks: single steps if there are few, otherwise sums by rank
// and time bucket. Each step is added once, from memory or from disk.
//
// Memory is bounded by the limits of the chart, including 64 bytes of samples for each cell.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "server/doctor/step_log.hpp"
#include "web/json/members.hpp"

namespace muster::web {

/// Evenly spaced samples of a long sequence, which approximate its median.
template <std::size_t most>
class spread_samples {
 public:
  void add(std::uint32_t value, std::uint64_t times) {
    seen_ += times;
    while (next_ < seen_) {
      if (kept_ == most) {
        thin();
        continue;
      }
      all_[kept_++] = value;
      next_ += stride_;
    }
  }
  std::uint32_t median() const {
    if (kept_ == 0) return 0;
    auto some = all_;
    auto const middle = some.begin() + (kept_ - 1) / 2;
    std::nth_element(some.begin(), middle, some.begin() + kept_);
    return *middle;
  }

 private:
  void thin() {
    for (std::uint32_t i = 0; 2 * i < kept_; ++i) all_[i] = all_[2 * i];
    kept_ = (kept_ + 1) / 2;
    stride_ *= 2;
    next_ = kept_ * stride_;
  }

  std::uint64_t seen_ = 0, next_ = 0, stride_ = 1;
  std::uint32_t kept_ = 0;
  std::array<std::uint32_t, most> all_{};
};

struct picture_query {
  core::time_point from{}, to{};
  std::uint32_t attempt = 0;  // 0 means all attempts
  std::uint32_t first_rank = 0, ranks = 256;
  std::uint32_t buckets = 300;
};

class step_picture {
 public:
  static constexpr std::uint32_t ranks_max = 1'000, buckets_max = 1'000, cells_max = 100'000;
  /// Maximum number of steps that are listed individually. Above this limit, steps are summed.
  static constexpr std::size_t spans_max = 10'000;
  /// A step is slow if it takes at least this many times the median.
  static constexpr int slow_times = 2;

  /// Many ranks reduce the number of buckets. REQUIRES: the end of `q` is after its start.
  explicit step_picture(picture_query const& q);

  void add(doctor::step_segment const& s);
  void ends_at(core::time_point until) { until_ = until; }
  core::time_point until() const { return until_; }

  void say(member_list const& m) const;

 private:
  struct cell {
    std::uint64_t steps = 0;
    std::uint32_t longest = 0;
    spread_samples<15> some;
  };
  using lane = std::map<std::uint32_t, cell>;  // keyed by bucket

  void add(doctor::step_span const& s);
  void write_spans(member_list const& m) const;

  picture_query q_;
  core::duration bucket_{};
  core::time_point until_{}, since_ = core::never;
  std::vector<doctor::step_span> spans_;
  bool many_ = false;
  std::map<std::uint32_t, lane> lanes_;  // by rank
  spread_samples<1'023> all_;
};

}  // namespace muster::web
