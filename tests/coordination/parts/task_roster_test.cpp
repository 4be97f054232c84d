// The roster by itself: states, names, heartbeats.
#include "server/core/coordination/tasks/task_roster.hpp"

namespace muster::core::coordination {
namespace task_roster_cases {

using namespace std::chrono_literals;

constexpr time_point start{std::chrono::seconds(1'000)};

cluster_spec four_tasks() {
  cluster_spec spec;
  spec.jobs = {{"worker", 3, false}, {"spot", 1, true}};
  return spec;
}

fault_ptr some_fault() {
  return task_fault(no_task, code::internal, "broken");
}

TEST(task_roster, tasks_are_recoverable_as_far_as_their_job_is) {
  changes said;
  task_roster roster(four_tasks(), {said, cluster_id{1}});
  EXPECT_FALSE(roster[2].recoverable);
  EXPECT_TRUE(roster[3].recoverable);
  roster.become_recoverable(2);
  EXPECT_TRUE(roster[2].recoverable);
}

TEST(task_roster, counts_states_and_raises_its_version_with_each_change) {
  changes said;
  task_roster roster(four_tasks(), {said, cluster_id{1}});
  roster.connect(0, incarnation{7}, start);
  roster.connect(1, incarnation{8}, start);
  EXPECT_EQ(roster.connected(), 2u);
  EXPECT_TRUE(roster.fail(1, some_fault(), false, failed_why::reported));
  EXPECT_FALSE(roster.fail(1, some_fault(), false, failed_why::reported))
      << "its first error is kept";
  EXPECT_EQ(roster.in_error(), 1u);
  EXPECT_EQ(roster.version(), 3);
  EXPECT_TRUE(roster.disconnect(0, start + 1s, left_why::left));
  EXPECT_FALSE(roster.disconnect(0, start + 1s, left_why::left));
  EXPECT_TRUE(roster.disconnect(1, start + 1s, left_why::left));
  EXPECT_EQ(roster.connected() + roster.in_error(), 0u);
  EXPECT_EQ(roster.ever_connected(), 2u);
  EXPECT_EQ(roster.violated_invariant(), "");
}

TEST(task_roster, the_longest_silent_are_found_first) {
  changes said;
  task_roster roster(four_tasks(), {said, cluster_id{1}});
  EXPECT_EQ(roster.oldest_heartbeat(), never);
  for (task_index t = 0; t < 3; ++t) roster.connect(t, incarnation{t + 1}, start + t * 1s);
  roster.beat(0, start + 5s);
  EXPECT_EQ(roster.oldest_heartbeat(), start + 1s);
  EXPECT_EQ(roster.silent(start + 2s), (std::vector<task_index>{1, 2}));
  roster.disconnect(1, {}, left_why::left);
  EXPECT_EQ(roster.silent(start + 9s), (std::vector<task_index>{2, 0}));
  roster.forgive(100s, 1s, start + 9s);
  EXPECT_TRUE(roster.silent(start + 7s).empty());
  EXPECT_EQ(roster.violated_invariant(), "");
}

TEST(task_roster, a_name_is_its_last_owners) {
  changes said;
  task_roster roster(four_tasks(), {said, cluster_id{1}});
  roster.identify(0, incarnation{7}, "a:1");
  roster.identify(1, incarnation{8}, "a:1");
  EXPECT_EQ(roster.find({}, "a:1"), 1u);
  EXPECT_EQ(roster.find(incarnation{7}, "a:1"), 0u) << "the incarnation comes first";
  roster.identify(0, incarnation{9}, "a:2");
  EXPECT_EQ(roster.find({}, "a:1"), 1u) << "leaving a name does not take it from its owner";
  EXPECT_EQ(roster.find(incarnation{7}, ""), no_task);
}

}  // namespace task_roster_cases
}  // namespace muster::core::coordination
