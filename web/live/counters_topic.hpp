// The `counters` topic, with five minutes of history. It is always kept up to date, so that a new
// dashboard has full charts. Used on the web thread.
#pragma once

#include <deque>

#include "web/live/topic.hpp"
#include "web/metrics/counters.hpp"

namespace muster::web {

class counters_topic final : public topic {
 public:
  /// At the limit, the oldest point is removed.
  static constexpr std::size_t points_max = 300;
  static constexpr std::chrono::milliseconds step{1000};

  explicit counters_topic(core::time_point start) : topic(topic_name::counters), started_(start) {}

  void update(counters c);
  void complete(counters& c) const;
  bool can_serve(std::uint64_t from) const override;

 private:
  struct point {
    std::uint64_t seq;  // sequence number of the update that added the point
    std::int64_t t;
    std::uint64_t queued, running;
    double finished, failed;
    std::int64_t hb_p99;
  };

  void sample(counters const& c);
  void write_body(json_out& out, std::uint64_t const* from) const override;

  core::time_point const started_;
  counters now_;
  std::deque<point> history_;
  core::time_point sampled_{};
  std::uint64_t finished_then_ = 0, failed_then_ = 0;
  double finished_per_s_ = 0, failed_per_s_ = 0;
};

}  // namespace muster::web
