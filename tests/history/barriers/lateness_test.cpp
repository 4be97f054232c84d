#include "server/history/barriers/lateness.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/core/coordination/barriers/barrier_table.hpp"
#include "server/history/barriers/barrier_lateness.hpp"

namespace muster::history {
namespace lateness_cases {

using namespace std::chrono_literals;

constexpr time_point start{std::chrono::seconds(1'000)};

struct lateness_of_five : testing::Test {
  void meet(std::vector<duration> after, std::int64_t counter = 0) {
    std::vector<time_point> came;
    for (auto const d : after) came.push_back(start + d);
    late.note({"step", counter}, who, came, *std::max_element(came.begin(), came.end()));
  }
  std::shared_ptr<coordination::participants const> who =
      std::make_shared<coordination::participants>(coordination::participants{0, 1, 2, 3, 4});
  lateness late;
};

TEST_F(lateness_of_five, is_measured_from_the_median) {
  meet({10ms, 0ms, 20ms, 50ms, 11ms});
  auto const& m = late.meetings().front();
  EXPECT_EQ(m.last, 3u);
  EXPECT_EQ(m.late, 39ms) << "the third of five came at 11 ms";
  EXPECT_EQ(m.spread, 50ms);
  EXPECT_EQ(m.arrival_us, (std::vector<std::uint32_t>{10'000, 0, 20'000, 50'000, 11'000}));
  EXPECT_EQ(late.of(2).late_us, 9'000u);
  EXPECT_EQ(late.of(1).late_us, 0u) << "an early task is not rewarded";
  EXPECT_EQ(late.of(1).meetings, 1u);
  EXPECT_EQ(late.latest(3), 39ms);
  EXPECT_EQ(late.worst(10), (std::vector<coordination::task_index>{3, 2}));
  EXPECT_EQ(late.violated_invariant(), "");
}

TEST_F(lateness_of_five, most_frequent_latecomer_is_listed_first) {
  meet({0ms, 0ms, 0ms, 0ms, 900ms}, 0);
  meet({0ms, 5ms, 0ms, 0ms, 0ms}, 1);
  meet({0ms, 5ms, 0ms, 0ms, 0ms}, 2);
  EXPECT_EQ(late.worst(10), (std::vector<coordination::task_index>{1, 4}));
  EXPECT_EQ(late.worst(1), (std::vector<coordination::task_index>{1}));
}

TEST_F(lateness_of_five, forgets_the_oldest) {
  meet({0ms, 0ms, 0ms, 0ms, 7ms});
  for (std::size_t i = 0; i < lateness::meetings_max; ++i)
    meet({3ms, 0ms, 0ms, 0ms, 0ms}, std::int64_t(i) + 1);
  EXPECT_EQ(late.meetings().size(), lateness::meetings_max);
  EXPECT_EQ(late.of(4), (lateness::sums{64, 0, 0}));
  EXPECT_EQ(late.latest(4), 0ms);
  EXPECT_EQ(late.of(0).last, 64u);
  EXPECT_EQ(late.violated_invariant(), "");
}

constexpr coordination::cluster_id one{1};

struct late_by_changes : testing::Test {
  coordination::arrival by(coordination::task_index t, coordination::barrier_purpose purpose =
                                                           coordination::barrier_purpose::user) {
    return {.id = "b", .timeout = 60s, .task = t, .purpose = purpose};
  }
  void meet(duration second, coordination::fault_ptr result,
            coordination::barrier_purpose purpose = coordination::barrier_purpose::user) {
    auto const n = table.instance_for(by(0, purpose), start).number;
    table.arrive(n, by(0, purpose), core::call_id{1}, start);
    table.arrive(n, by(1, purpose), core::call_id{2}, start + second);
    table.end(n, {.fault = std::move(result)}, start + second);
    fold();
  }
  void fold() {
    listener.fold(said);
    said.clear();
  }
  coordination::limits some;
  coordination::changes said;
  coordination::change_log log{said, one};
  coordination::barrier_table table{2, 10s, some, log};
  barrier_lateness listener;
};

TEST_F(late_by_changes, counts_users_barriers_that_have_passed) {
  EXPECT_EQ(listener.of(one), nullptr);
  meet(30ms, nullptr);
  auto const& late = *listener.of(one);
  ASSERT_EQ(late.meetings().size(), 1u);
  EXPECT_EQ(late.meetings()[0].which.id, "b");
  EXPECT_EQ(late.meetings()[0].late, 30ms);
  EXPECT_EQ(late.of(1).last, 1u);
  EXPECT_EQ(listener.of(coordination::cluster_id{2}), nullptr);
}

TEST_F(late_by_changes, ignores_failed_and_internal_barriers) {
  meet(30ms, coordination::barrier_fault({"b", 0}, code::cancelled, "cancelled"));
  EXPECT_TRUE(listener.of(one)->meetings().empty());
  coordination::barrier_table other{2, 10s, some, log};
  auto const n = other.instance_for(by(0, coordination::barrier_purpose::shutdown), start).number;
  other.arrive(n, by(0, coordination::barrier_purpose::shutdown), core::call_id{1}, start);
  other.arrive(n, by(1, coordination::barrier_purpose::shutdown), core::call_id{2}, start + 1s);
  other.end(n, {}, start + 1s);
  fold();
  EXPECT_TRUE(listener.of(one)->meetings().empty());
}

TEST_F(late_by_changes, remembers_nothing_of_an_earlier_process) {
  coordination::barrier_fact f;
  f.id = "a";
  f.ended = start;
  table.restore(f);
  fold();
  EXPECT_TRUE(listener.of(one)->meetings().empty());
  meet(30ms, nullptr);
  EXPECT_EQ(listener.of(one)->meetings().size(), 1u);
}

TEST_F(late_by_changes, restarts_with_a_generation) {
  meet(30ms, nullptr);
  log.note(coordination::generation_begun{.number = 2});
  fold();
  EXPECT_EQ(listener.of(one), nullptr);
}

}  // namespace lateness_cases
}  // namespace muster::history
