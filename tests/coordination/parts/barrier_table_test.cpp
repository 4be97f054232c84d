#include "server/core/coordination/barriers/barrier_table.hpp"

namespace muster::core::coordination {
namespace barrier_table_cases {

using namespace std::chrono_literals;

constexpr time_point start{std::chrono::seconds(1'000)};

struct barriers_of_three : testing::Test {
  barrier_number open(std::string_view id, task_index t, std::int64_t counter = 0) {
    return table.instance_for(by(id, t, counter), start).number;
  }
  arrival by(std::string_view id, task_index t, std::int64_t counter = 0) {
    return {.id = id, .counter = counter, .timeout = 60s, .task = t};
  }
  bool arrive(barrier_number n, task_index t, time_point now = start) {
    return table.arrive(n, by({}, t), call_id{100 + t}, now);
  }

  limits few{.barriers_max = 2, .finished_barriers_max = 1};
  changes said;
  change_log log{said, cluster_id{1}};
  barrier_table table{3, 10s, few, log};
};

TEST_F(barriers_of_three, end_names_all_participants_in_order_of_arrival) {
  auto const n = open("b", 0);
  EXPECT_FALSE(arrive(n, 2));
  EXPECT_FALSE(arrive(n, 0));
  EXPECT_EQ(table.at(n).first, 2u);
  EXPECT_TRUE(table.at(n).is_missing(1));
  EXPECT_TRUE(arrive(n, 1));
  auto const e = table.end(n, {}, start + 1s);
  ASSERT_EQ(e.waiters.size(), 3u);
  EXPECT_EQ(e.waiters[2].call, call_id{102}) << "in order of tasks";
  EXPECT_EQ(e.instance, (barrier_instance{"b", 0}));
  EXPECT_EQ(table.next_due(), never);
  EXPECT_EQ(table.violated_invariant(), "");
}

TEST_F(barriers_of_three, the_next_count_opens_the_next_instance) {
  auto const n = open("b", 0);
  EXPECT_FALSE(table.instance_for(by("b", 1), start).opened) << "it runs";
  table.end(n, {}, start);
  EXPECT_FALSE(table.instance_for(by("b", 1, 0), start).opened) << "it has passed";
  auto const again = table.instance_for(by("b", 1, 1), start);
  EXPECT_TRUE(again.opened);
  EXPECT_EQ(table.at(again.number).counter, 1);
  EXPECT_EQ(table.fit(again.number, by("b", 1, 0)), arrival_fit::miscounted);
  EXPECT_EQ(table.fit(again.number, by("b", 1, 1)), arrival_fit::fits);
  EXPECT_EQ(table.fit(again.number, by("b", no_task, 1)), arrival_fit::no_participant);
}

TEST_F(barriers_of_three, other_participants_do_not_fit) {
  auto two = by("b", 0);
  two.who = std::make_shared<participants const>(participants{0, 2});
  auto const n = table.instance_for(two, start).number;
  EXPECT_EQ(table.fit(n, two), arrival_fit::fits);
  EXPECT_EQ(table.fit(n, by("b", 0)), arrival_fit::other_participants);
  two.task = 1;
  EXPECT_EQ(table.fit(n, two), arrival_fit::no_participant);
  two.with_unknown = true;
  EXPECT_EQ(table.fit(n, two), arrival_fit::unknown_participant);
}

TEST_F(barriers_of_three, a_reminder_is_due_once_and_then_the_end) {
  auto const n = open("b", 0);
  EXPECT_EQ(table.next_due(), start + 60s);
  arrive(n, 0);
  EXPECT_EQ(table.next_due(), start + 10s);
  EXPECT_EQ(table.first_due(), n);
  EXPECT_TRUE(table.remind(n, start + 10s));
  EXPECT_EQ(table.next_due(), start + 60s);
}

TEST_F(barriers_of_three, withdrawn_task_is_missing_and_timed_out_task_is_not) {
  auto const n = open("b", 0);
  arrive(n, 0), arrive(n, 1);
  table.step_out(n, 0, barrier_move::withdrawn, start);
  EXPECT_TRUE(table.at(n).is_missing(0));
  table.step_out(n, 1, barrier_move::withdrawn, start);
  table.note_gave_up(n, 1, start);
  EXPECT_FALSE(table.at(n).is_missing(1));
  EXPECT_EQ(table.at(n).arrived_count, 0u);
  EXPECT_EQ(table.violated_invariant(), "");
}

TEST_F(barriers_of_three, oldest_finished_barrier_is_removed) {
  auto const a = open("a", 0), b = open("b", 0);
  EXPECT_TRUE(table.full());
  table.end(a, {}, start), table.end(b, {}, start);
  EXPECT_EQ(table.find("a"), nullptr);
  EXPECT_EQ(table.find(a), nullptr) << "its number is not reused";
  EXPECT_EQ(table.at(open("a", 0, 5)).counter, 5) << "its counter is trusted now";
  EXPECT_EQ(table.violated_invariant(), "");
}

}  // namespace barrier_table_cases
}  // namespace muster::core::coordination
