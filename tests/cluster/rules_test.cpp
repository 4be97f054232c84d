// TensorFlow's test names, then rules that its suite does not test.
#include "muster/cluster_rules.hpp"
#include "tests/cluster/fixture.hpp"

namespace muster {
namespace {

using testing::fault_of;

cluster_spec with_chief() {
  return cluster_spec::from_json(R"({"chief": ["c:1"], "worker": ["a:1", "b:1"],
                                     "ps": ["p:1", "q:1"]})");
}
cluster_spec without_chief() {
  return cluster_spec::from_json(R"({"worker": ["a:1", "b:1"]})");
}

TEST(IsChief, testClusterWithChief) {
  EXPECT_TRUE(is_chief(with_chief(), "chief", 0));
  EXPECT_FALSE(is_chief(with_chief(), "worker", 0));
}

TEST(IsChief, testClusterWithoutChief) {
  EXPECT_TRUE(is_chief(without_chief(), "worker", 0));
  EXPECT_FALSE(is_chief(without_chief(), "worker", 1));
  EXPECT_EQ(fault_of([] { is_chief(without_chief(), "chief", 0); }),
            "task type 'chief' is not a job of the cluster (its jobs are worker)");
  EXPECT_EQ(fault_of([] { is_chief(without_chief(), "worker", 2); }),
            "task id is 2, but job 'worker' has tasks 0 to 1");
}

TEST(IsChief, evaluator_and_single_task_are_chief) {
  EXPECT_TRUE(is_chief(with_chief(), "evaluator", 0));
  EXPECT_TRUE(is_chief({}, "worker", 3));
  EXPECT_FALSE(is_chief(with_chief(), "ps", 0));
}

TEST(cluster_rules, leaders) {
  EXPECT_EQ(collective_leader(with_chief(), "worker", 1), "/job:chief/replica:0/task:0");
  EXPECT_EQ(collective_leader(without_chief(), "worker", 1), "/job:worker/replica:0/task:0");
  EXPECT_EQ(collective_leader(with_chief(), "evaluator", 0), "");
  EXPECT_EQ(collective_leader({}, "worker", 0), "");
  EXPECT_EQ(coordination_leader(with_chief()), "/job:ps/replica:0/task:0");
  EXPECT_EQ(coordination_leader(without_chief()), "/job:worker/replica:0/task:0");
  EXPECT_EQ(coordination_leader({}), "");
  EXPECT_EQ(coordination_leader(cluster_spec::from_json(R"({"chief": ["a"], "worker": ["b"]})")),
            "/job:chief/replica:0/task:0");
  EXPECT_EQ(
      fault_of([] { collective_leader(cluster_spec::from_json(R"({"ps": ["a"]})"), "ps", 0); }),
      "the cluster has neither chief nor worker (its jobs are ps)");
}

TEST(cluster_rules, counts_and_ids) {
  EXPECT_EQ(worker_count(with_chief(), "chief"), 3);
  EXPECT_EQ(worker_count(with_chief(), "worker"), 3);
  EXPECT_EQ(worker_count(with_chief(), "evaluator"), 1);
  EXPECT_EQ(fault_of([] { worker_count(with_chief(), "ps"); }),
            "task type 'ps' has no worker count; only chief, worker and evaluator have one");
  EXPECT_EQ(id_in_cluster(with_chief(), "chief", 0), 0);
  EXPECT_EQ(id_in_cluster(with_chief(), "worker", 1), 2);
  EXPECT_EQ(id_in_cluster(without_chief(), "worker", 1), 1);
  EXPECT_EQ(id_in_cluster(with_chief(), "evaluator", 0), 0);
  EXPECT_EQ(fault_of([] { id_in_cluster(with_chief(), "ps", 1); }),
            "task type 'ps' has no worker id; only chief, worker and evaluator have one");
  EXPECT_EQ(task_count(with_chief(), "ps"), 2);
  EXPECT_EQ(task_count(with_chief(), "evaluator"), 0);
}

TEST(cluster_rules, invalid_combinations_are_rejected) {
  EXPECT_EQ(
      fault_of([] { validate_cluster(cluster_spec::from_json(R"({"master": ["a"]})")); }),
      "job 'master' is not allowed in the cluster; allowed jobs are chief, worker, ps, evaluator");
  EXPECT_EQ(fault_of([] { validate_cluster(cluster_spec::from_json(R"({"chief": ["a", "b"]})")); }),
            "job chief has 2 tasks; at most one is allowed");
  EXPECT_EQ(fault_of([] { validate_cluster(with_chief(), "client"); }),
            "task type 'client' is unknown; known types are chief, worker, ps, evaluator");
  EXPECT_EQ(fault_of([] { validate_cluster(with_chief(), "ps", -1); }),
            "task id is -1; it must be 0 or greater");
  EXPECT_NO_THROW(validate_cluster(with_chief()));
  EXPECT_NO_THROW(validate_cluster(with_chief(), "evaluator", 5));
  EXPECT_NO_THROW(validate_cluster({}, "worker", 5));
}

TEST(cluster_rules, parameter_servers_need_a_worker_and_a_ps) {
  EXPECT_NO_THROW(validate_parameter_server_cluster(with_chief(), "chief", 0));
  EXPECT_EQ(fault_of([] { validate_parameter_server_cluster({}, "chief"); }),
            "the cluster is empty; it needs at least one worker and one ps");
  EXPECT_EQ(fault_of([] { validate_parameter_server_cluster(with_chief(), {}); }),
            "the task has no type; it must be chief, worker, ps or evaluator");
  EXPECT_EQ(fault_of([] { validate_parameter_server_cluster(without_chief(), "worker", 0); }),
            "the cluster must have at least one ps");
  EXPECT_EQ(fault_of([] {
              validate_parameter_server_cluster(cluster_spec::from_json(R"({"ps": ["a"]})"), "ps",
                                                0);
            }),
            "the cluster must have at least one worker");
}

TEST(cluster_rules, evaluator_and_other_tasks_are_separated) {
  auto const spec = cluster_spec::from_json(R"({"worker": ["a"], "evaluator": ["e"]})");
  EXPECT_EQ(split_for_evaluator(spec, "evaluator").to_json(), R"({"evaluator":["e"]})");
  EXPECT_EQ(split_for_evaluator(spec, "worker").to_json(), R"({"worker":["a"]})");
  EXPECT_TRUE(split_for_evaluator(without_chief(), "evaluator").empty());
}

}  // namespace
}  // namespace muster
