#include "server/history/activity/activity_log.hpp"

#include <gtest/gtest.h>

namespace muster::history {
namespace activity_log_cases {

using namespace std::chrono_literals;

constexpr time_point t0{std::chrono::hours(500'000)};
constexpr worker_number w1{1}, w2{2};
constexpr function_id f{0}, g{1};

struct activity_log_test : testing::Test {
  config limits;
  server_wide wide{time_point{}};
  activity_log log{limits, wide, t0};

  activity_log_test() { log.open(w1, "worker", 0, t0); }

  void add(worker_number w, time_point ended, duration took, function_id what = f,
           span_state state = span_state::succeeded) {
    log.add(w, {closure_id{7}, session_id{3}, what, state, ended - took, ended});
  }
  std::vector<span_view> all(time_point now, activity_filter const& filter = {}) const {
    return log.spans(filter, 0, {}, now).spans;
  }
  std::vector<minute_view> minutes(activity_filter const& filter = {}) const {
    return log.minutes(filter, {}, ~std::size_t{}).minutes;
  }
};

TEST_F(activity_log_test, one_millisecond_closure_gets_its_own_bar) {
  add(w1, t0 + 5ms, 1ms, g, span_state::cancelled);
  span_view span;
  span.lane = 1;
  span.function = g;
  span.state = span_state::cancelled;
  span.started = t0 + 4ms;
  span.lasted = span.busy = 1ms;
  span.failed = 1;
  span.closure = closure_id{7};
  span.job = session_id{3};
  EXPECT_EQ(all(t0 + 1s), std::vector{span});
}

TEST_F(activity_log_test, bar_shows_the_newest_job_whose_id_has_its_last_digits) {
  auto const job_of = [this](std::uint64_t newest, std::uint64_t job) {
    wide.last_session = newest;
    log.add(w1, {closure_id{7}, session_id{job}, f, span_state::succeeded, t0, t0 + 5ms});
    return raw(all(t0 + 1s).back().job);
  };
  EXPECT_EQ(job_of(9, 0), 0u) << "builds have no job";
  EXPECT_EQ(job_of(9, 9), 9u);
  EXPECT_EQ(job_of(0x3'0000'0005, 0x3'0000'0004), 0x3'0000'0004u);
  EXPECT_EQ(job_of(0x3'0000'0005, 0x2'ffff'ffff), 0x2'ffff'ffffu);
}

TEST_F(activity_log_test, bar_of_weeks_keeps_its_length_to_a_thousandth) {
  add(w1, t0 + 24h * 40, 24h * 40);
  auto const lasted = all(t0 + 24h * 41).at(0).lasted;
  EXPECT_GT(lasted, 24h * 40 * 999 / 1000);
  EXPECT_LE(lasted, 24h * 40);
}

TEST_F(activity_log_test, short_closures_are_summed_per_lane_function_and_100_ms) {
  log.open(w2, "worker", 1, t0);
  for (int i = 1; i <= 10; ++i) {
    add(w1, t0 + i * 1ms, 300us, i < 8 ? f : g,
        i == 3 ? span_state::failed : span_state::succeeded);
    add(w2, t0 + i * 1ms, 100us);
  }
  add(w1, t0 + 100ms, 300us);  // belongs to the next 100 ms
  auto const spans = all(t0 + 1s);
  ASSERT_EQ(spans.size(), 4u);
  EXPECT_EQ(spans[0].count, 7u);
  EXPECT_EQ(spans[0].failed, 1u);
  EXPECT_EQ(spans[0].state, span_state::failed);
  EXPECT_EQ(spans[0].function, f);
  EXPECT_EQ(spans[0].started, t0 + 700us);
  EXPECT_EQ(spans[0].lasted, 6300us);
  EXPECT_EQ(spans[0].busy, 2100us);
  EXPECT_EQ(spans[0].closure, closure_id{});
  EXPECT_EQ(spans[1].lane, 2u);
  EXPECT_EQ(spans[1].busy, 1ms);
  EXPECT_EQ(spans[2].function, g);
  EXPECT_EQ(spans[2].count, 3u);
  EXPECT_EQ(spans[2].failed, 0u);
  EXPECT_EQ(spans[2].started, t0 + 7700us);
  EXPECT_EQ(spans[2].lasted, 2300us);
  EXPECT_EQ(spans[3].count, 1u);
  EXPECT_EQ(spans[3].started, t0 + 99'700us);
}

TEST_F(activity_log_test, alternating_functions_are_counted_separately) {
  for (int i = 0; i < 30; ++i) add(w1, t0 + i * 1ms, 50us, i % 10 == 0 ? g : f);
  auto const spans = all(t0 + 1s);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].function, g);
  EXPECT_EQ(spans[0].count, 3u);
  EXPECT_EQ(spans[0].started, t0 - 50us);
  EXPECT_EQ(spans[0].lasted, 20'050us) << "up to its last one, whatever was in between";
  EXPECT_EQ(spans[1].function, f);
  EXPECT_EQ(spans[1].count, 27u);
}

TEST_F(activity_log_test, functions_beyond_four_share_one_sum) {
  for (int round = 0; round < 3; ++round)
    for (std::uint32_t n = 0; n < 7; ++n) add(w1, t0 + 1ms, 10us, function_id{n});
  auto const spans = all(t0 + 1s);
  ASSERT_EQ(spans.size(), activity_log::sums_max + 1);
  for (std::uint32_t n = 0; n < activity_log::sums_max; ++n) {
    EXPECT_EQ(spans[n].function, function_id{n});
    EXPECT_EQ(spans[n].count, 3u);
  }
  EXPECT_EQ(spans.back().function, several_functions);
  EXPECT_EQ(spans.back().count, 9u);
  log.for_each_function([](function_id of) { EXPECT_LT(raw(of), 4u); });
  EXPECT_EQ(minutes().at(0).count, 21u) << "while they grow";
  add(w1, t0 + 200ms, 10us);
  EXPECT_EQ(minutes().at(0).count, 22u) << "and after";
  EXPECT_EQ(minutes().at(0).function, several_functions);
}

TEST_F(activity_log_test, sums_that_can_still_grow_are_not_shown) {
  add(w1, t0 + 10ms, 5ms);
  add(w1, t0 + 110ms, 10us);
  add(w1, t0 + 120ms, 5ms);
  EXPECT_EQ(all(t0 + 150ms).size(), 1u);
  auto const page = log.spans({}, 0, {}, t0 + 150ms);
  EXPECT_FALSE(page.more);
  EXPECT_EQ(page.next, 1u);
  EXPECT_EQ(log.spans({}, page.next, {}, t0 + 200ms).spans.size(), 2u);
}

TEST_F(activity_log_test, reader_resumes_at_its_position_with_bounded_steps) {
  for (int i = 0; i < 10; ++i) add(w1, t0 + i * 200ms + 5ms, 5ms);
  std::uint64_t from = 0;
  std::size_t seen = 0, pages = 0;
  for (bool more = true; more; ++pages) {
    auto const page = log.spans({}, from, {.looks = 3}, t0 + 1h);
    EXPECT_LE(page.spans.size(), 3u);
    seen += page.spans.size();
    from = page.next;
    more = page.more;
  }
  EXPECT_EQ(seen, 10u);
  EXPECT_EQ(pages, 4u);
  auto const limited = log.spans({}, 2, {.limit = 5}, t0 + 1h);
  EXPECT_EQ(limited.spans.size(), 5u);
  EXPECT_EQ(limited.next, 7u);
  EXPECT_TRUE(limited.more);
}

TEST_F(activity_log_test, is_filtered_by_time_lane_and_job) {
  log.open(w2, "ps", 5, t0);
  add(w1, t0 + 1s, 500ms);
  add(w2, t0 + 2s, 500ms);
  log.add(w2, {closure_id{8}, session_id{4}, g, span_state::succeeded, t0 + 2s, t0 + 3s});
  add(w2, t0 + 4s, 10us);
  activity_filter filter;
  filter.from = t0 + 1600ms;
  filter.to = t0 + 1700ms;
  EXPECT_EQ(all(t0 + 9s, filter).size(), 1u);
  filter = {};
  filter.lanes = {{"ps", 5}};
  EXPECT_EQ(all(t0 + 9s, filter).size(), 3u);
  filter.job = session_id{4};
  EXPECT_EQ(all(t0 + 9s, filter).size(), 1u);
  filter = {};
  filter.lanes = {{"ps", 6}};
  EXPECT_EQ(all(t0 + 9s, filter).size(), 0u);
}

TEST_F(activity_log_test, oldest_chunk_is_removed_at_the_byte_limit) {
  limits.activity_bytes_max = 2 * activity_log::chunk_bytes;
  EXPECT_EQ(log.spans({}, 0, {}, t0).complete_since, t0);
  for (std::uint32_t i = 0; i < 2 * activity_log::spans_a_chunk; ++i) add(w1, t0 + i * 1ms, 1ms);
  EXPECT_EQ(log.chunks(), 2u);
  add(w1, t0 + 2 * 4096ms, 1ms);
  EXPECT_EQ(log.chunks(), 2u);
  EXPECT_EQ(wide.activity_chunks, 2u);
  auto const page = log.spans({}, 0, {}, t0 + 1h);
  EXPECT_EQ(page.complete_since, t0 + 4095ms);
  EXPECT_FALSE(page.all);
  EXPECT_EQ(page.spans.size(), 4097u);
  EXPECT_EQ(page.spans.front().started, t0 + 4095ms);
  EXPECT_EQ(log.invalid(), "");
  std::uint64_t counted = 0;
  for (auto const& m : minutes()) counted += m.count;
  EXPECT_EQ(counted, 2 * 4096u + 1) << "minutes remain";
}

TEST_F(activity_log_test, growing_sum_can_lose_its_bar_but_not_its_minutes) {
  limits.activity_bytes_max = activity_log::chunk_bytes;
  add(w1, t0, 10us);
  log.open(w2, "worker", 1, t0);
  for (int i = 0; i < 4096 * 2; ++i) add(w2, t0 + 1ms, 1ms);
  EXPECT_EQ(log.invalid(), "");
  add(w1, t0 + 2ms, 20us);
  auto const spans = all(t0 + 1s, {.lanes = {{"worker", 0}}});
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].busy, 20us);
  EXPECT_EQ(minutes({.lanes = {{"worker", 0}}}).at(0).busy, 30us);
}

TEST_F(activity_log_test, the_bar_of_another_function_may_take_the_chunk_of_the_first) {
  limits.activity_bytes_max = activity_log::chunk_bytes;
  add(w1, t0 + 1ms, 10us, f);
  log.open(w2, "worker", 1, t0);
  for (std::uint32_t i = 1; i < 2 * activity_log::spans_a_chunk; ++i) add(w2, t0 + 1ms, 1ms);
  add(w1, t0 + 2ms, 20us, g);  // the first span of the third chunk
  EXPECT_EQ(log.invalid(), "");
  add(w1, t0 + 3ms, 30us, f);
  auto const spans = all(t0 + 1s, {.lanes = {{"worker", 0}}});
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].function, g);
  EXPECT_EQ(spans[1].busy, 30us);
  EXPECT_EQ(minutes({.lanes = {{"worker", 0}}}).at(0).busy, 60us);
}

TEST_F(activity_log_test, clusters_share_the_bytes_and_each_keeps_its_two_newest_chunks) {
  limits.activity_bytes_max = 3 * activity_log::chunk_bytes;
  {
    activity_log other(limits, wide, t0);
    other.open(w1, "worker", 0, t0);
    for (int i = 0; i < 3 * 4096; ++i) add(w1, t0 + 1ms, 1ms);
    EXPECT_EQ(log.chunks(), 3u);
    for (int i = 0; i < 4 * 4096; ++i)
      other.add(w1, {closure_id{1}, {}, f, span_state::succeeded, t0, t0 + 1ms});
    EXPECT_EQ(other.chunks(), 2u);
  }
  EXPECT_EQ(wide.activity_chunks, 3u);
}

TEST_F(activity_log_test, chunks_older_than_an_hour_are_removed) {
  for (int i = 0; i < 4096; ++i) add(w1, t0 + 1ms, 1ms);
  EXPECT_EQ(log.chunks(), 1u);
  add(w1, t0 + 62min, 1ms);
  EXPECT_EQ(log.chunks(), 1u);
  EXPECT_EQ(all(t0 + 63min).size(), 1u);
}

TEST_F(activity_log_test, an_hour_of_minutes_is_kept) {
  for (int i = 0; i < 90; ++i) {
    add(w1, t0 + i * 1min + 1s, 500us, f, i == 40 ? span_state::failed : span_state::succeeded);
    add(w1, t0 + i * 1min + 2s, 250ms, g, i == 89 ? span_state::failed : span_state::succeeded);
  }
  auto const all = minutes();
  ASSERT_EQ(all.size(), 60u);
  EXPECT_EQ(all.front().begin, t0 + 30min);
  EXPECT_EQ(all.front().count, 2u);
  EXPECT_EQ(all.front().busy, 250'500us);
  EXPECT_EQ(all.front().function, several_functions);
  EXPECT_EQ(all.front().failed, 0u);
  EXPECT_EQ(all[10].failed, 1u) << "a short one";
  EXPECT_EQ(all.back().begin, t0 + 89min);
  EXPECT_EQ(all.back().count, 2u) << "and nothing of the one an hour before";
  EXPECT_EQ(all.back().failed, 1u);
  EXPECT_EQ(minutes({.from = t0 + 80min, .to = t0 + 81min}).size(), 2u);
}

TEST_F(activity_log_test, long_closure_fills_its_minutes_and_is_counted_in_the_last) {
  add(w1, t0 + 3min + 30s, 2min);
  auto const all = minutes();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].busy, 30s);
  EXPECT_EQ(all[0].count, 0u);
  EXPECT_EQ(all[1].busy, 60s);
  EXPECT_EQ(all[2].busy, 30s);
  EXPECT_EQ(all[2].count, 1u);
}

TEST_F(activity_log_test, closure_of_several_days_fills_an_hour) {
  add(w1, t0 + 50h + 10s, 50h);
  auto const all = minutes();
  ASSERT_EQ(all.size(), 60u);
  for (std::size_t i = 1; i + 1 < all.size(); ++i) EXPECT_EQ(all[i].busy, 60s) << i;
  EXPECT_EQ(all.back().busy, 10s);
}

TEST_F(activity_log_test, a_minute_has_a_sum_that_still_grows) {
  add(w1, t0 + 1ms, 400us);
  ASSERT_EQ(minutes().size(), 1u);
  EXPECT_EQ(minutes()[0].busy, 400us);
  EXPECT_EQ(minutes()[0].function, f);
  log.close(w1, t0 + 1s);
  EXPECT_EQ(minutes()[0].busy, 400us);
}

TEST_F(activity_log_test, lane_belongs_to_a_task_across_workers) {
  log.open(w2, "worker", 0, t0);  // before the old worker has left
  add(w2, t0 + 5ms, 5ms);
  log.close(w1, t0 + 1s);
  log.close(w2, t0 + 2s);
  log.open(w1, "worker", 0, t0 + 3s);
  add(w1, t0 + 4s, 5ms);
  EXPECT_EQ(log.invalid(), "");
  auto const spans = all(t0 + 5s);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].lane, spans[1].lane);
  std::vector<std::string> open;
  log.for_each_open({}, {}, [&](lane_view const& l) {
    open.push_back(l.job);
    return true;
  });
  EXPECT_EQ(open, (std::vector<std::string>{"worker"}));
}

TEST_F(activity_log_test, unused_lane_is_removed_after_an_hour_or_at_the_limit) {
  limits.tasks_max = 3;
  add(w1, t0 + 5ms, 5ms);
  log.close(w1, t0);
  log.open(w1, "a", 0, t0 + 1s);
  log.close(w1, t0 + 1s);
  log.open(w1, "a", 1, t0 + 2s);
  EXPECT_EQ(log.lanes(), 3u);
  EXPECT_EQ(all(t0 + 3s).size(), 1u);
  log.open(w2, "a", 2, t0 + 3s);
  EXPECT_EQ(log.lanes(), 3u);
  EXPECT_EQ(all(t0 + 3s).size(), 0u) << "no closure is known for them";
  log.close(w2, t0 + 4s);
  log.open(w2, "a", 3, t0 + 2h);
  EXPECT_EQ(log.lanes(), 2u);
  EXPECT_EQ(log.invalid(), "");
}

TEST_F(activity_log_test, next_page_of_minutes_starts_behind_a_lane) {
  log.open(w2, "worker", 1, t0);
  add(w1, t0 + 5ms, 5ms);
  add(w2, t0 + 5ms, 5ms);
  auto const first = log.minutes({}, {}, 1);
  ASSERT_TRUE(first.next);
  EXPECT_EQ(first.minutes.size(), 1u);
  auto const second = log.minutes({}, first.next, 1);
  EXPECT_FALSE(second.next);
  EXPECT_EQ(second.minutes.at(0).lane, 2u);
  EXPECT_EQ(log.minutes({.lanes = {{"worker", 1}}}, {}, 9).minutes.size(), 1u);
}

}  // namespace activity_log_cases
}  // namespace muster::history
