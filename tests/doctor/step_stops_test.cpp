#include "server/doctor/step_stops.hpp"

#include <gtest/gtest.h>

namespace muster::doctor {
namespace {

constexpr core::program_id of_it{7};
constexpr core::stream_id a{1}, b{2};

struct agreement : testing::Test {
  step_stops stops{{[this](core::stream_id s, hold_steps const& h) {
                      if (away.contains(s)) return false;
                      held.emplace_back(s, h);
                      return true;
                    },
                    [this](core::stream_id s, stop_after const& w) { told[s] = w; }}};
  core::time_point now{std::chrono::hours(1)};
  std::set<core::stream_id> away;
  std::vector<std::pair<core::stream_id, hold_steps>> held;
  std::map<core::stream_id, stop_after> told;
  std::vector<muster::result<std::uint64_t>> ends;

  void begin(std::uint64_t least = 0, std::uint32_t attempt = 1) {
    stops.begin(now, of_it, attempt, least, {a, b},
                [this](muster::result<std::uint64_t> r) { ends.push_back(std::move(r)); });
  }
};

TEST_F(agreement, is_one_step_after_the_highest_of_all_ranks) {
  begin();
  ASSERT_EQ(held.size(), 2u);
  auto const query = held[0].second.query;
  stops.answered(a, {query, {{0, 5}, {1, 7}}});
  EXPECT_TRUE(told.empty()) << "one has not answered";
  stops.answered(a, {query, {{0, 50}}});
  stops.answered(core::stream_id{9}, {query, {{0, 60}}});
  stops.answered(b, {query, {{2, 6}}});
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(*ends[0], 8u);
  EXPECT_EQ(told[a].step, 8u);
  EXPECT_EQ(told[b].step, 8u);
  EXPECT_EQ(stops.agreed(of_it, 1), 8u);
  EXPECT_FALSE(stops.agreed(of_it, 2));
  EXPECT_EQ(stops.due(), core::never);
}

TEST_F(agreement, is_not_before_the_requested_step) {
  begin(100);
  stops.answered(a, {held[0].second.query, {{0, 5}}});
  stops.answered(b, {held[0].second.query, {}});
  EXPECT_EQ(*ends.at(0), 100u);
}

TEST_F(agreement, fails_if_no_rank_reports_steps) {
  begin();
  stops.answered(a, {held[0].second.query, {}});
  stops.answered(b, {held[0].second.query, {}});
  EXPECT_EQ(ends.at(0).error().code, code::failed_precondition);
  EXPECT_FALSE(told.at(a).step) << "waiting ranks continue";
  EXPECT_FALSE(stops.agreed(of_it, 1));
}

TEST_F(agreement, fails_without_one_of_the_workers) {
  away = {b};
  begin();
  EXPECT_EQ(ends.at(0).error().code, code::unavailable);
  EXPECT_FALSE(told.at(a).step);
  away.clear();
  begin();
  stops.on_worker_lost(b);
  EXPECT_EQ(ends.at(1).error().code, code::unavailable);
  begin();
  EXPECT_EQ(stops.due(), now + step_stops::patience);
  stops.tick(now + step_stops::patience);
  EXPECT_EQ(ends.at(2).error().code, code::unavailable);
  EXPECT_TRUE(held.size() >= 5);
}

// A rank that reached the agreed step may have ended because of it.
TEST_F(agreement, is_final_once_a_rank_has_reached_it) {
  begin();
  stops.answered(a, {held[0].second.query, {{0, 6}}});
  stops.answered(b, {held[0].second.query, {{1, 4}}});
  ASSERT_EQ(*ends.at(0), 7u);
  begin(100);
  stops.answered(a, {held[2].second.query, {{0, 7}}});
  stops.answered(b, {held[2].second.query, {{1, 5}}});
  EXPECT_EQ(*ends.at(1), 7u);
  EXPECT_EQ(told[b].step, 7u);
}

TEST_F(agreement, can_change_before_any_rank_has_reached_it) {
  begin(100);
  for (auto const s : {a, b}) stops.answered(s, {held[0].second.query, {{0, 5}}});
  ASSERT_EQ(*ends.at(0), 100u);
  begin();
  for (auto const s : {a, b}) stops.answered(s, {held[2].second.query, {{0, 9}}});
  EXPECT_EQ(*ends.at(1), 10u);
}

TEST_F(agreement, is_kept_when_a_new_one_fails) {
  begin(100);
  for (auto const s : {a, b}) stops.answered(s, {held[0].second.query, {{0, 5}}});
  begin();
  stops.on_worker_lost(b);
  EXPECT_EQ(ends.at(1).error().code, code::unavailable);
  EXPECT_EQ(told[a].step, 100u) << "its pages contain no step";
  EXPECT_EQ(stops.agreed(of_it, 1), 100u);
}

TEST_F(agreement, fails_beyond_the_last_possible_step) {
  begin();
  stops.answered(a, {held[0].second.query, {{0, step_stops::step_max}}});
  stops.answered(b, {held[0].second.query, {}});
  EXPECT_EQ(ends.at(0).error().code, code::failed_precondition);
}

TEST_F(agreement, is_shared_by_concurrent_requests) {
  begin();
  begin(90);
  EXPECT_EQ(held.size(), 2u);
  for (auto const s : {a, b}) stops.answered(s, {held[0].second.query, {{0, 5}}});
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(*ends[0], 90u);
  EXPECT_EQ(*ends[1], 90u);
}

TEST_F(agreement, concurrent_programs_beyond_the_limit_are_refused) {
  for (std::uint64_t i = 1; i <= step_stops::under_way_max; ++i)
    stops.begin(now, core::program_id{100 + i}, 1, 0, {a}, [](auto const&) {});
  begin();
  EXPECT_EQ(ends.at(0).error().code, code::resource_exhausted);
}

TEST_F(agreement, is_remembered_of_the_newest_programs) {
  for (std::uint64_t i = 0; i <= step_stops::agreed_max; ++i) {
    stops.begin(now, core::program_id{100 + i}, 1, 0, {a}, [](auto const&) {});
    stops.answered(a, {held.back().second.query, {{0, 5}}});
  }
  EXPECT_FALSE(stops.agreed(core::program_id{100}, 1));
  EXPECT_TRUE(stops.agreed(core::program_id{101}, 1));
}

}  // namespace
}  // namespace muster::doctor
