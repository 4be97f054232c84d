#include "web/metrics/samples.hpp"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace muster::web {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

constexpr core::time_point t0{std::chrono::seconds(1'795'000'000)};

struct samples : testing::Test {
  sample_history history;
  counters c;
  closure_times t;

  samples() { c.now = t0; }
  void after(core::duration d) {
    c.now += d;
    history.add(c, t);
  }
  json::value told(std::string_view span) const {
    return json::parse(object_line([&](member_list const& m) { history.say(m, span); }));
  }
  std::vector<double> column(std::string_view span, std::string_view key) const {
    return json::value_to<std::vector<double>>(told(span).at(key));
  }
};

TEST_F(samples, each_point_covers_the_time_since_the_previous_point) {
  after(0s);
  c.overview.closures.succeeded = 30;
  c.overview.closures.failed = 10;
  c.overview.closures.queued = 7;
  c.overview.heartbeat_p99 = 250ms;
  after(2s);
  EXPECT_EQ(column("5m", "t"), std::vector<double>{1'795'000'002'000.0});
  EXPECT_EQ(column("5m", "finished"), std::vector<double>{20});
  EXPECT_EQ(column("5m", "failed"), std::vector<double>{5});
  EXPECT_EQ(column("5m", "queued"), std::vector<double>{7});
  EXPECT_EQ(column("5m", "hb_p99"), std::vector<double>{250});
  EXPECT_TRUE(column("1h", "t").empty()) << "the step has not ended";
  after(1s);
  EXPECT_EQ(column("5m", "finished"), (std::vector<double>{20, 0}));
}

TEST_F(samples, each_step_has_the_mean_of_its_samples) {
  after(0s);
  for (int i = 1; i <= 10; ++i) {
    c.overview.closures.running = static_cast<std::uint64_t>(i);
    c.overview.closures.succeeded += 5;
    after(1s);
  }
  EXPECT_EQ(column("1h", "running"), std::vector<double>{5.5});
  EXPECT_EQ(column("1h", "finished"), std::vector<double>{5});
  EXPECT_EQ(told("1h").at("step_ms"), 10'000);
}

TEST_F(samples, number_of_points_is_limited) {
  for (int i = 0; i < 24 * 3600 + 600; ++i) after(1s);
  EXPECT_EQ(column("5m", "t").size(), 300u);
  EXPECT_EQ(column("1h", "t").size(), 360u);
  auto const day = column("24h", "t");
  EXPECT_EQ(day.size(), 1440u);
  EXPECT_EQ(day.back() - day.front(), 1439 * 60'000.0);
}

TEST_F(samples, durations_cover_only_their_step) {
  t.run.add(10h);
  t.wait.add(10h);
  after(0s);
  for (int i = 0; i < 98; ++i) t.run.add(200us);
  for (int i = 0; i < 2; ++i) t.run.add(3s);
  after(1s);
  auto const p50 = column("5m", "run_p50_ms").at(0), p99 = column("5m", "run_p99_ms").at(0);
  EXPECT_FLOAT_EQ(static_cast<float>(p50), 0.2f);
  EXPECT_EQ(p99, 3'000);
  EXPECT_EQ(column("5m", "wait_p50_ms").at(0), 0) << "no closure started";
  after(1s);
  EXPECT_EQ(column("5m", "run_p99_ms").at(1), 0);
}

TEST_F(samples, percentiles_stay_between_the_smallest_and_largest_value) {
  after(0s);
  t.run.add(306s);
  after(1s);
  EXPECT_EQ(column("5m", "run_p50_ms").at(0), 306'000) << "the only value";
  EXPECT_EQ(column("5m", "run_p99_ms").at(0), 306'000);
  t.run.add(301s);
  t.run.add(303s);
  after(1s);
  for (auto const* p : {"run_p50_ms", "run_p99_ms"}) {
    EXPECT_GE(column("5m", p).at(1), 301'000);
    EXPECT_LE(column("5m", p).at(1), 303'000);
  }
  t.run.add(100h);
  after(1s);
  EXPECT_EQ(column("5m", "run_p99_ms").at(2), 360'000'000) << "beyond all buckets";
}

TEST_F(samples, decreasing_counts_are_tolerated) {
  t.run.add(1s);
  c.overview.closures.succeeded = 9;
  after(0s);
  t = {};
  c.overview.closures.succeeded = 0;
  after(1s);
  EXPECT_EQ(column("5m", "run_p50_ms").at(0), 0);
  EXPECT_EQ(column("5m", "finished").at(0), 0);
}

TEST_F(samples, continue_the_samples_of_an_earlier_process) {
  std::vector<history::chart_point> made;
  history.go_on(
      [] {
        history::chart_point p{0, t0 - 60s, {}};
        p.figures[history::chart_point::queued] = 5;
        return std::vector{p, history::chart_point{1, t0 - 50s, {}},
                           history::chart_point{9, t0, {}}};
      },
      [&made](auto const& p) { made.push_back(p); });
  after(0s);
  EXPECT_EQ(column("5m", "queued"), std::vector<double>{5});
  EXPECT_EQ(column("1h", "queued"), std::vector<double>{0});
  c.overview.closures.queued = 7;
  after(1s);
  EXPECT_EQ(column("5m", "queued"), (std::vector<double>{5, 7}));
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].series, 0u);
  EXPECT_EQ(made[0].at, t0 + 1s);
  EXPECT_EQ(made[0].figures[history::chart_point::queued], 7);
}

}  // namespace
}  // namespace muster::web
