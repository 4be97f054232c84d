#include "server/doctor/step_log.hpp"

#include <gtest/gtest.h>

#include "server/doctor/steps.hpp"

namespace muster::doctor {
namespace step_log_cases {

using namespace std::chrono_literals;

constexpr core::program_id program{7}, another{8};
constexpr core::time_point start{std::chrono::hours(1'000)};

step_span span(std::uint32_t rank, std::uint64_t step, core::duration ended, core::duration took,
               std::uint32_t count = 1) {
  return {rank, count, step, start + ended, took, took / count};
}
std::vector<step_span> spans_in(step_segment const& s) {
  std::vector<step_span> all;
  unpack(s.bytes, s.first, [&all](step_span const& one) { all.push_back(one); });
  return all;
}
std::vector<step_span> spans_in(std::vector<step_log::segment> const& segments) {
  std::vector<step_span> all;
  for (auto const& s : segments)
    for (auto const& one : spans_in(*s)) all.push_back(one);
  return all;
}

TEST(steps_packed, are_unchanged_after_unpacking) {
  std::vector<step_span> const all{
      span(0, 1, 100ms, 100ms),
      span(0, 2, 250ms, 150ms),
      span(0, 9, 500ms, 200ms),
      span(0, 3, 400ms, 1us),  // counts from the start again; its clock was set back
      span(3, ~std::uint64_t{0}, 2h, 1h),
      span(3, 5, 3h, 7us, 5)};
  std::vector<step_span> back;
  unpack(packed(all, start), start, [&back](step_span const& s) { back.push_back(s); });
  EXPECT_EQ(back, all);
}

TEST(steps_packed, consecutive_steps_take_four_bytes_each) {
  std::vector<step_span> all;
  for (int i = 1; i <= 1'000; ++i)
    all.push_back(span(5, static_cast<std::uint64_t>(i), i * 300ms, 300ms));
  EXPECT_LE(packed(all, start).size(), 1'000 * 4 + 8);
}

TEST(steps_packed, damaged_data_ends_at_the_first_unreadable_byte) {
  std::vector<step_span> const all{span(0, 1, 100ms, 100ms), span(1, 2, 250ms, 150ms)};
  auto const bytes = packed(all, start);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    std::size_t read = 0;
    unpack(std::string_view(bytes).substr(0, n), start, [&read](auto const&) { ++read; });
    EXPECT_LT(read, 2u);
  }
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string const same(200, static_cast<char>(byte));
    unpack(same, start, [](step_span const& s) { EXPECT_GE(s.took, 0s); });
  }
}

TEST(step_log_test, returns_and_packs_steps_by_program) {
  step_log log;
  log.add(start, program, 1, {span(0, 1, 100ms, 100ms), span(1, 1, 110ms, 110ms)});
  log.add(start, another, 1, {span(0, 5, 1s, 1s)});
  log.add(start, program, 2, {span(0, 2, 2s, 1s)});
  auto const all = log.of(program, start + 3s);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]->attempt, 1u);
  EXPECT_EQ(all[0]->spans, 2u);
  EXPECT_EQ(all[0]->first, start);
  EXPECT_EQ(all[0]->last, start + 110ms);
  EXPECT_LT(all[0]->made, all[1]->made);
  EXPECT_EQ(spans_in(all).size(), 3u);
  log.forget(program);
  EXPECT_TRUE(log.of(program, start + 3s).empty());
  EXPECT_EQ(log.of(another, start + 3s).size(), 1u);
  log.forget(another);
  EXPECT_EQ(log.bytes(), 0u);
}

TEST(step_log_test, combines_short_steps_of_a_rank) {
  step_log log;
  std::vector<step_span> some;
  for (int i = 1; i <= 30; ++i)
    some.push_back(span(0, static_cast<std::uint64_t>(i), i * 10ms, 10ms));
  some.push_back(span(0, 31, 350ms, 50ms));  // a long one
  log.add(start, program, 1, some);
  auto const all = spans_in(log.of(program, start));
  ASSERT_EQ(all.size(), 4u) << "of 100 ms each, and the long one";
  EXPECT_EQ(all[0].count, 10u);
  EXPECT_EQ(all[0].took, 100ms);
  EXPECT_EQ(all[0].longest, 10ms);
  EXPECT_EQ(all[2].step, 30u);
  EXPECT_EQ(all[3], span(0, 31, 350ms, 50ms));
}

TEST(step_log_test, returns_each_new_segment_once) {
  step_log log;
  log.add(start, program, 1, {span(0, 1, 100ms, 100ms)});
  EXPECT_EQ(log.take_new(start).size(), 1u);
  EXPECT_TRUE(log.take_new(start).empty());
  log.add(start, another, 1, {span(0, 2, 200ms, 100ms)});
  log.add(start, program, 1, {span(0, 2, 200ms, 100ms)});
  log.forget(program);
  EXPECT_EQ(log.take_new(start).size(), 1u) << "removed steps are not returned";
  EXPECT_EQ(log.of(another, start).size(), 1u) << "taken segments were stored";
}

TEST(step_log_test, drops_the_oldest_beyond_its_limit_and_reports_its_start) {
  step_log log(start);
  EXPECT_EQ(log.since(), start);
  std::vector<step_span> many;
  for (int n = 0; n < 400; ++n) {
    many.clear();
    for (std::uint32_t rank = 0; rank < step_log::open_max; ++rank)
      many.push_back(span(rank, static_cast<std::uint64_t>(n), n * 1s, 30ms));
    log.add(start, program, 1, many);
  }
  EXPECT_LE(log.bytes(), step_log::bytes_max);
  EXPECT_GT(log.bytes(), step_log::bytes_max / 2);
  auto const all = log.of(program, start);
  EXPECT_LT(all.size(), 400u);
  EXPECT_EQ(log.since(), all.front()->last - 1s);
  EXPECT_EQ(log.take_new(start).size(), all.size()) << "the removed ones were never taken";
}

TEST(step_log_test, packs_segments_that_were_open_for_long) {
  step_log log;
  log.add(start, program, 1, {span(0, 1, 1s, 1s)});
  EXPECT_EQ(log.bytes(), 0u);
  log.add(start + step_log::open_for, program, 1, {span(0, 2, 2s, 1s)});
  EXPECT_GT(log.bytes(), 0u);
}

struct reported : testing::Test {
  std::vector<step_span> say(step_report r, core::duration sent) {
    return table.reported(start, {program, 1, sent, {std::move(r)}}, [] {
      return std::vector<rank_place>{{"h", "worker"}, {"h", "worker"}};
    });
  }
  step_table table;
};

TEST_F(reported, steps_have_times_from_the_second_on) {
  EXPECT_TRUE(say({0, 1, 10ms, {{1, 10ms}}}, 100ms).empty()) << "its start is unknown";
  auto const two = say({0, 3, 40ms, {{2, 20ms}, {3, 40ms}}}, 100ms);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0], span(0, 2, -80ms, 10ms));
  EXPECT_EQ(two[1], span(0, 3, -60ms, 20ms));
  EXPECT_TRUE(say({0, 3, 40ms, {{3, 40ms}}}, 100ms).empty()) << "reported before";
}

TEST_F(reported, omitted_steps_share_one_span_with_the_next) {
  say({1, 1, 10ms, {{1, 10ms}}}, 100ms);
  auto const all = say({1, 12, 80ms, {{11, 60ms}, {12, 80ms}}, 9}, 100ms);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], span(1, 11, -40ms, 50ms, 10));
  EXPECT_EQ(all[1], span(1, 12, -20ms, 20ms));
}

TEST_F(reported, restarted_counts_start_a_new_sequence) {
  say({0, 7, 10ms, {{7, 10ms}}}, 100ms);
  EXPECT_TRUE(say({0, 2, 30ms, {{2, 30ms}}}, 100ms).empty());
  EXPECT_EQ(say({0, 3, 40ms, {{3, 40ms}}}, 100ms).size(), 1u);
}

}  // namespace step_log_cases
}  // namespace muster::doctor
