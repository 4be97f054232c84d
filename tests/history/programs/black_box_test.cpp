#include "server/history/programs/black_box.hpp"

#include <gtest/gtest.h>

namespace muster::history {
namespace black_box_cases {

using namespace std::chrono_literals;
using stack = attempt_record::stack;

constexpr time_point at{std::chrono::seconds(100)};

black_box::name first_of(std::uint64_t program = 1, std::uint32_t attempt = 1) {
  return {program_id{program}, attempt};
}
std::vector<black_box::seat> seats(std::uint32_t n = 4) {
  std::vector<black_box::seat> all;
  for (std::uint32_t i = 0; i < n; ++i)
    all.push_back({"worker:" + std::to_string(i), i < n / 2 ? "w:0" : "w:1", "host"});
  return all;
}
rank_end end(std::uint32_t rank, std::vector<std::string> said = {}, std::uint32_t attempt = 1) {
  rank_end e;
  e.name = {program_id{1}, attempt, rank};
  e.exit_status = 3;
  e.stderr_lines = std::move(said);
  return e;
}
std::size_t changes(black_box& b) {
  return b.changes().size();
}

TEST(black_boxes, record_how_each_rank_ended_as_reported_by_its_worker) {
  black_box b;
  b.begun(first_of(), seats());
  b.ended(at, "w:1", end(0, {"a lie"}));
  b.ended(at, "w:0", end(0, {"oops"}));
  b.ended(at + 1s, "w:0", end(0, {"again"}));
  b.ended(at, "w:0", end(7));
  b.ended(at, "w:0", end(0, {}, 2));
  auto const* r = b.find(first_of());
  ASSERT_EQ(r->ranks.size(), 1u);
  EXPECT_EQ(r->ranks[0].task, "worker:0");
  EXPECT_EQ(r->ranks[0].exit_status, 3u);
  EXPECT_EQ(r->ranks[0].stderr_lines, std::vector<std::string>{"oops"});
  EXPECT_FALSE(b.has_changes()) << "it is written when it has ended";
  b.over(first_of(), {{.barrier = "b"}}, {{.task = "worker:1"}});
  EXPECT_EQ(changes(b), 1u);
  EXPECT_EQ(b.find(first_of())->barriers.size(), 1u);
  EXPECT_EQ(b.find(first_of(1, 2)), nullptr);
}

TEST(black_boxes, record_the_start_of_a_rank_as_reported_by_its_worker) {
  black_box b;
  b.begun(first_of(), seats());
  b.started(at, "w:1", {program_id{1}, 1, 0});  // not the rank's own worker
  b.started(at + 1s, "w:0", {program_id{1}, 1, 0});
  b.started(at + 2s, "w:0", {program_id{1}, 1, 0});
  b.ended(at + 3s, "w:0", end(0));
  b.ended(at + 3s, "w:0", end(1));
  auto const& ranks = b.find(first_of())->ranks;
  ASSERT_EQ(ranks.size(), 2u);
  EXPECT_EQ(ranks[0].started, at + 1s);
  EXPECT_EQ(ranks[1].started, time_point{}) << "it was not reported";
}

TEST(black_boxes, arrivals_of_the_newest_barriers_are_kept) {
  black_box b({.arrivals_max = 5});
  b.begun(first_of(), seats());
  using meeting = attempt_record::meeting;
  meeting const two{.came = {{0, 0}, {1, 7}}}, four{.came = {{0, 0}, {1, 7}, {2, 8}, {3, 9}}};
  b.over(first_of(), {two, four, two}, {});
  auto const& all = b.find(first_of())->barriers;
  EXPECT_EQ(all[0].came, two.came);
  EXPECT_TRUE(all[1].came.empty()) << "all of them or none";
  EXPECT_EQ(all[2].came, two.came);
}

TEST(black_boxes, combine_equal_stacks_of_all_workers_and_take_each_rank_once) {
  black_box b;
  b.begun(first_of(), seats());
  b.killed("w:0", first_of(), {{stack_state::taken, "here", "S", {0, 1, 2}}});
  b.killed("w:1", first_of(),
           {{stack_state::taken, "here", "S", {2}}, {stack_state::stopped, "", "T", {3, 9}}});
  b.killed("w:0", first_of(), {{stack_state::taken, "elsewhere", "S", {0}}});
  auto const& all = b.find(first_of())->stacks;
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].ranks, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(all[1].ranks, (std::vector<std::uint32_t>{3}));
  b.killed("w:0", first_of(5), {{stack_state::taken, "here", "S", {0}}});
  EXPECT_EQ(b.find(first_of(5)), nullptr);
}

TEST(black_boxes, record_workers_lost_during_the_attempt) {
  black_box b;
  b.begun(first_of(), seats());
  b.back(at, "w:0");
  b.lost(at, "w:0", "connection lost");
  b.lost(at, "w:0", "once more");
  b.lost(at, "w:7", "another's");
  b.back(at + 1s, "w:0");
  EXPECT_EQ(changes(b), 1u);
  b.told(first_of(), {at, attempt_event::task_failed, "worker:2", "INTERNAL: oops"});
  EXPECT_EQ(changes(b), 1u) << "written at once";
  auto const& all = b.find(first_of())->events;
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].kind, attempt_event::worker_lost);
  EXPECT_EQ(all[0].text, "connection lost");
  EXPECT_EQ(all[1].kind, attempt_event::worker_back);
  EXPECT_EQ(all[2].about, "worker:2");
  b.over(first_of(), {}, {});
  b.lost(at, "w:0", "later");
  EXPECT_EQ(b.find(first_of())->events.size(), 3u);
}

TEST(black_boxes, record_of_an_attempt_is_limited_and_counts_omissions) {
  black_box b({.events_max = 2,
               .barriers_max = 1,
               .latecomers_max = 1,
               .stack_bytes_max = 10,
               .line_bytes_max = 40,
               .rank_bytes_max = 20,
               .ranks_max = 2});
  b.begun(first_of(), seats());
  for (int i = 0; i < 4; ++i) b.told(first_of(), {at, attempt_event::task_failed, "t", "x"});
  b.killed("w:0", first_of(),
           {{stack_state::taken, "123456", "", {0}}, {stack_state::taken, "654321", "", {1}}});
  b.ended(at, "w:0", end(0, {"too long for its part", "12345", "67890"}));
  b.ended(at, "w:0", end(1));
  b.ended(at, "w:1", end(2));
  b.over(first_of(), {{}, {}}, {{}, {}});
  auto const& r = *b.find(first_of());
  EXPECT_EQ(r.events.size(), 2u);
  EXPECT_EQ(r.events_left_out, 2u);
  EXPECT_EQ(r.stacks.size(), 1u);
  EXPECT_EQ(r.stacks_left_out, 1u);
  EXPECT_EQ(r.ranks.size(), 2u);
  EXPECT_EQ(r.ranks[0].stderr_lines, (std::vector<std::string>{"12345", "67890"})) << "the last";
  EXPECT_EQ(r.ranks_left_out, 1u);
  EXPECT_EQ(r.barriers.size(), 1u);
  EXPECT_EQ(r.latecomers.size(), 1u);
}

TEST(black_boxes, oldest_records_are_removed_beyond_the_limits) {
  black_box b({.attempts_max = 2, .bytes_max = 30'000, .event_bytes_max = 10'000});
  for (std::uint32_t i = 1; i <= 3; ++i) {
    b.begun(first_of(1, i), seats());
    b.over(first_of(1, i), {}, {});
  }
  EXPECT_EQ(b.find(first_of(1, 1)), nullptr);
  EXPECT_NE(b.find(first_of(1, 2)), nullptr);
  EXPECT_EQ(changes(b), 3u) << "one is to be erased";
  for (std::uint64_t p = 2; p <= 5; ++p) {
    b.begun(first_of(p), seats());
    b.told(first_of(p), {at, attempt_event::task_failed, "t", std::string(9'000, 'x')});
    if (p != 2) b.over(first_of(p), {}, {});
  }
  EXPECT_LE(b.bytes(), 30'000u);
  EXPECT_EQ(b.find(first_of(1, 3)), nullptr);
  EXPECT_NE(b.find(first_of(2)), nullptr) << "it runs";
  EXPECT_EQ(b.find(first_of(3)), nullptr);
  EXPECT_NE(b.find(first_of(5)), nullptr);
  b.forget(program_id{5});
  EXPECT_EQ(b.find(first_of(5)), nullptr);
  auto const all = b.changes();
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](auto const& c) {
    return c.first == first_of(5) && c.second == nullptr;
  }));
}

TEST(black_boxes, of_an_earlier_server_are_continued) {
  black_box b;
  b.begun(first_of(), seats());
  attempt_record r;
  r.ranks.push_back({.rank = 0, .task = "worker:0"});
  r.events.push_back({at, attempt_event::worker_lost, "w:0", "gone"});
  b.restore(first_of(), r);
  b.restore(first_of(2), r);
  EXPECT_FALSE(b.has_changes());
  b.ended(at, "w:0", end(0));
  b.ended(at, "w:0", end(1));
  EXPECT_EQ(b.find(first_of())->ranks.size(), 2u) << "the first was known";
  b.lost(at, "w:1", "away");
  EXPECT_EQ(b.find(first_of())->events.size(), 2u);
  EXPECT_EQ(b.find(first_of(2))->events.size(), 1u) << "that one is over";
}

}  // namespace black_box_cases
}  // namespace muster::history
