#include "server/core/coordination/tasks/task_registry.hpp"

namespace muster::core::coordination {
namespace task_registry_cases {

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

TEST(task_registry, tasks_are_recoverable_if_their_job_is) {
  changes said;
  task_registry registry(four_tasks(), {said, cluster_id{1}});
  EXPECT_FALSE(registry[2].recoverable);
  EXPECT_TRUE(registry[3].recoverable);
  registry.become_recoverable(2);
  EXPECT_TRUE(registry[2].recoverable);
}

TEST(task_registry, counts_states_and_raises_its_version_with_each_change) {
  changes said;
  task_registry registry(four_tasks(), {said, cluster_id{1}});
  registry.connect(0, incarnation{7}, start);
  registry.connect(1, incarnation{8}, start);
  EXPECT_EQ(registry.connected(), 2u);
  EXPECT_TRUE(registry.fail(1, some_fault(), false, failed_why::reported));
  EXPECT_FALSE(registry.fail(1, some_fault(), false, failed_why::reported))
      << "its first error is kept";
  EXPECT_EQ(registry.in_error(), 1u);
  EXPECT_EQ(registry.version(), 3);
  EXPECT_TRUE(registry.disconnect(0, start + 1s, left_why::left));
  EXPECT_FALSE(registry.disconnect(0, start + 1s, left_why::left));
  EXPECT_TRUE(registry.disconnect(1, start + 1s, left_why::left));
  EXPECT_EQ(registry.connected() + registry.in_error(), 0u);
  EXPECT_EQ(registry.ever_connected(), 2u);
  EXPECT_EQ(registry.violated_invariant(), "");
}

TEST(task_registry, the_longest_silent_are_found_first) {
  changes said;
  task_registry registry(four_tasks(), {said, cluster_id{1}});
  EXPECT_EQ(registry.oldest_sign_of_life(), never);
  for (task_index t = 0; t < 3; ++t) registry.connect(t, incarnation{t + 1}, start + t * 1s);
  registry.beat(0, start + 5s);
  EXPECT_EQ(registry.oldest_sign_of_life(), start + 1s);
  EXPECT_EQ(registry.silent(start + 2s), (std::vector<task_index>{1, 2}));
  registry.disconnect(1, {}, left_why::left);
  EXPECT_EQ(registry.silent(start + 9s), (std::vector<task_index>{2, 0}));
  registry.forgive(100s, 1s, start + 9s);
  EXPECT_TRUE(registry.silent(start + 7s).empty());
  EXPECT_EQ(registry.violated_invariant(), "");
}

TEST(task_registry, address_belongs_to_its_last_owner) {
  changes said;
  task_registry registry(four_tasks(), {said, cluster_id{1}});
  registry.identify(0, incarnation{7}, "a:1");
  registry.identify(1, incarnation{8}, "a:1");
  EXPECT_EQ(registry.find({}, "a:1"), 1u);
  EXPECT_EQ(registry.find(incarnation{7}, "a:1"), 0u) << "the incarnation comes first";
  registry.identify(0, incarnation{9}, "a:2");
  EXPECT_EQ(registry.find({}, "a:1"), 1u)
      << "a task that leaves an address does not take it from its owner";
  EXPECT_EQ(registry.find(incarnation{7}, ""), no_task);
}

}  // namespace task_registry_cases
}  // namespace muster::core::coordination
