#include <gtest/gtest.h>

#include "server/core/policies/transient_failures.hpp"
#include "server/core/policies/watchdog.hpp"

namespace muster::core {
namespace policies_cases {

using namespace std::chrono_literals;

constexpr time_point t0{std::chrono::seconds(100)};
constexpr session_number s1{1}, s2{2};

TEST(watchdog_state, reports_one_period_after_the_last_progress) {
  core::watchdog w(10s);
  w.observe(true, t0);
  w.progress();
  w.observe(true, t0 + 4s);
  w.observe(true, t0 + 6s);
  EXPECT_EQ(w.due(), t0 + 14s);
  EXPECT_FALSE(w.on_alarm(false, t0 + 14s)) << "nothing to report";
  EXPECT_EQ(w.due(), t0 + 24s);
  EXPECT_TRUE(w.on_alarm(true, t0 + 24s));
  EXPECT_EQ(w.due(), t0 + 44s) << "it was reported";
  EXPECT_TRUE(w.stalled());
  EXPECT_EQ(w.quiet_since(), t0 + 4s);
  w.observe(false, t0 + 25s);
  EXPECT_EQ(w.due(), never);
  EXPECT_EQ(w.invalid(), "");
}

TEST(watchdog_state, reports_at_least_hourly_and_restarts_with_progress) {
  core::watchdog w(10s), slow(2h);
  w.observe(true, t0);
  auto at = t0;
  for (int i = 0; i < 12; ++i) w.on_alarm(true, at = w.due());
  EXPECT_EQ(w.due(), at + core::watchdog::longest_pause);
  w.progress();
  w.observe(true, at + 1s);
  EXPECT_EQ(w.due(), at + 11s);
  slow.observe(true, t0);
  slow.on_alarm(true, slow.due());
  EXPECT_EQ(slow.due(), t0 + 4h);
}

failure lost(std::vector<std::string> names) {
  failure f;
  f.dependencies = std::move(names);
  return f;
}

TEST(transient_failures, the_third_report_within_the_window_is_fatal_for_its_session_alone) {
  config c;
  transient_failures t(c);
  auto const f = lost({"ps:1", "ps:0"});
  EXPECT_TRUE(t.dependencies_lost(t.of(s1), f, t0).fatal.empty());
  EXPECT_GT(t.dependencies_lost(t.of(s1), f, t0).pause, 100ms) << "longer each time";
  EXPECT_TRUE(t.dependencies_lost(t.of(s2), f, t0).fatal.empty());
  EXPECT_EQ(t.dependencies_lost(t.of(s1), lost({"ps:1"}), t0).fatal,
            std::vector<std::string>{"ps:1"});
  EXPECT_TRUE(t.dependencies_lost(t.of(s1), f, t0 + c.transient_window + 1s).fatal.empty());
  EXPECT_EQ(t.invalid(), "");
  t.forget(s1);
  EXPECT_TRUE(t.dependencies_lost(t.of(s1), f, t0).fatal.empty());
}

TEST(transient_failures, failure_must_name_possible_tasks) {
  config c;
  c.declared_jobs = {{"ps", 2}};
  transient_failures t(c);
  auto const nobody = [](std::string const&, std::int64_t) { return false; };
  EXPECT_EQ(t.wrong(lost({"ps:1"}), nobody), "");
  EXPECT_EQ(t.wrong(lost({}), nobody), "it lists no dependencies");
  EXPECT_EQ(t.wrong(lost({"ps:2"}), nobody), "'ps:2': job 'ps' has only 2 tasks");
  EXPECT_EQ(t.wrong(lost({"x:0"}), nobody), "'x:0': the cluster has no job 'x'");
}

}  // namespace policies_cases
}  // namespace muster::core
