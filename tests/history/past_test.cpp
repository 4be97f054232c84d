#include <gtest/gtest.h>

#include "server/history/history.hpp"
#include "server/history/machines/machines.hpp"

namespace muster::history {
namespace {

using namespace std::chrono_literals;

constexpr time_point noon = time_point(std::chrono::hours(480'000));

struct past_test : testing::Test {
  config settings;
  server_wide wide{noon};
  history all{settings, wide, noon};

  static recorded_span of(std::string function, time_point started, duration lasted,
                          std::uint64_t closure) {
    recorded_span s{{"worker", 3}, {function, function, {}, false}, {}};
    s.what.started = started;
    s.what.lasted = s.what.busy = lasted;
    s.what.closure = closure_id{closure};
    return s;
  }
  static recorded_span sum(std::uint32_t count, std::uint32_t failed) {
    auto s = of({}, noon - 10s, 90ms, 0);
    s.what.count = count;
    s.what.failed = failed;
    s.what.busy = 60ms;
    return s;
  }
};

TEST_F(past_test, spans_and_sums_are_shown_as_before) {
  all.restore(of("f", noon - 20s, 2s, 77));
  all.restore(sum(500, 2));
  auto const page = all.activity().spans({}, 0, {}, noon);
  ASSERT_EQ(page.spans.size(), 2u);
  EXPECT_EQ(page.spans[0].closure, closure_id{77});
  EXPECT_EQ(page.spans[0].lasted, 2s);
  EXPECT_EQ(all.named()[page.spans[0].function].name, "f");
  EXPECT_EQ(page.spans[1].count, 500u);
  EXPECT_EQ(page.spans[1].failed, 2u);
  EXPECT_EQ(page.spans[1].busy, 60ms);
  EXPECT_EQ(page.spans[1].function, several_functions);
  EXPECT_EQ(page.spans[1].state, span_state::failed);
  ASSERT_EQ(page.names.lanes.size(), 1u);
  EXPECT_EQ(page.names.lanes[0].index, 3);
  EXPECT_EQ(page.complete_since, noon - 20s);
  EXPECT_EQ(all.invalid(), "");
}

TEST_F(past_test, minutes_include_restored_spans) {
  all.restore(of("f", noon - 20s, 2s, 77));
  all.restore(sum(500, 2));
  auto const page = all.activity().minutes({}, {}, 10);
  ASSERT_EQ(page.minutes.size(), 1u);
  EXPECT_EQ(page.minutes[0].count, 501u);
  EXPECT_EQ(page.minutes[0].failed, 2u);
  EXPECT_EQ(page.minutes[0].busy, 2s + 60ms);
  EXPECT_EQ(page.minutes[0].function, several_functions);
}

TEST_F(past_test, attaching_worker_continues_its_restored_lane) {
  all.restore(of("f", noon - 20s, 2s, 77));
  effects fx;
  fx.changes.workers.push_back({worker_number{1}, true, "worker", 3, 1});
  all.fold(fx, noon);
  EXPECT_EQ(all.activity().lanes(), 1u);
  EXPECT_EQ(all.invalid(), "");
}

TEST_F(past_test, restored_function_is_not_duplicated) {
  all.restore(of("f", noon - 20s, 2s, 77));
  effects fx;
  fx.changes.functions.push_back({function_id{9}, true, false, {}, "f", {}});
  all.fold(fx, noon);
  EXPECT_EQ(all.named().size(), 1u);
}

TEST_F(past_test, absent_machines_have_samples) {
  machines m;
  for (std::uint32_t i = 0; i < machines::samples_max + 5; ++i) m.restore("worker:1", "node", {i});
  auto const* const row = m.find("worker:1");
  ASSERT_TRUE(row);
  EXPECT_TRUE(row->gone);
  EXPECT_FALSE(row->fresh(noon));
  EXPECT_EQ(row->newest.host, "node");
  EXPECT_EQ(row->seen, time_point(std::chrono::seconds(machines::samples_max + 4)));
  auto const samples = machines::samples(*row);
  ASSERT_EQ(samples.size(), machines::samples_max);
  EXPECT_EQ(samples.front().at, 5u);
  machine seen;
  seen.cpu = 2;
  m.report("worker:1", seen, noon);
  EXPECT_TRUE(m.find("worker:1")->fresh(noon));
  EXPECT_EQ(machines::samples(*m.find("worker:1")).front().at, 6u);
}

}  // namespace
}  // namespace muster::history
