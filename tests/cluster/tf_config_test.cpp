#include "muster/tf_config.hpp"

#include "tests/cluster/fixture.hpp"

namespace muster {
namespace {

using testing::environment;
using testing::fault_of;

TEST(tf_config, an_index_can_be_a_whole_number_with_a_fraction_of_zero) {
  auto const c = tf_config::parse(
      R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0.0}})");
  EXPECT_EQ(c.task_index, 0);
}

TEST(tf_config, every_field_is_read) {
  auto const c = tf_config::parse(
      R"({"cluster": {"worker": ["a:1"], "ps": {"2": "b:1"}}, "task": {"type": "ps", "index": 2},
          "rpc_layer": "", "environment": "google", "session_master": "grpc://m:1", "job": {}})");
  EXPECT_TRUE(c.has_cluster && c.has_task);
  EXPECT_EQ(c.cluster.task_address("ps", 2), "b:1");
  EXPECT_EQ(c.task_type, "ps");
  EXPECT_EQ(c.task_index, 2);
  EXPECT_EQ(c.rpc_layer, "");
  EXPECT_EQ(c.environment, "google");
  EXPECT_EQ(c.session_master, "grpc://m:1");
  EXPECT_NO_THROW(c.check());
}

TEST(tf_config, absent_and_null_fields_are_unset) {
  for (auto const* text : {"{}", R"({"cluster": null, "task": {}, "rpc_layer": null})",
                           R"({"task": {"type": null, "index": null}})"}) {
    auto const c = tf_config::parse(text);
    EXPECT_FALSE(c.has_cluster) << text;
    EXPECT_TRUE(c.cluster.empty()) << text;
    EXPECT_FALSE(c.task_type || c.task_index || c.rpc_layer || c.environment) << text;
  }
  EXPECT_FALSE(tf_config::from(environment({})).has_cluster);
}

struct bad {
  char const* text;
  char const* line;
};

class malformed_tf_config : public ::testing::TestWithParam<bad> {};

TEST_P(malformed_tf_config, is_refused_in_one_line_that_names_fault_and_fix) {
  auto const read = [] { tf_config::from(environment({{"TF_CONFIG", GetParam().text}})).check(); };
  EXPECT_EQ(fault_of(read), GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    tf_config, malformed_tf_config,
    ::testing::Values(
        bad{"", "TF_CONFIG: empty; unset it, or write {\"cluster\": {…}, \"task\": {…}}"},
        bad{"{\"cluster\": }", "TF_CONFIG: not JSON at line 1, column 13: syntax error"},
        bad{"{'cluster': {}}", "TF_CONFIG: not JSON at line 1, column 2: syntax error"},
        bad{"{\n\"task\":\n", "TF_CONFIG: not JSON at line 3, column 1: incomplete JSON"},
        bad{"{} x", "TF_CONFIG: not JSON at line 1, column 4: text after the JSON value"},
        bad{"[1]",
            "TF_CONFIG: the value is a list, not an object such as {\"cluster\": {…}, \"task\": "
            "{…}}"},
        bad{R"({"cluster": [], "task": {}})",
            "TF_CONFIG: cluster is a list, not an object such as {\"worker\": [\"host:2222\"]}"},
        bad{R"({"cluster": {"worker": [1]}})",
            "TF_CONFIG: cluster.worker[0] is a number, not a string such as \"host:2222\""},
        bad{R"({"cluster": {"worker": "a:1"}})",
            "TF_CONFIG: cluster.worker is a string, neither a list of addresses nor an object from "
            "index to address"},
        bad{R"({"cluster": {"worker": {"one": "a:1"}}})",
            "TF_CONFIG: cluster.worker has the index 'one', which is not a number"},
        bad{R"({"cluster": {"": ["a:1"]}})", "TF_CONFIG: cluster: a job has no name"},
        bad{R"({"cluster": {"chief": ["a:1"], "chief": ["b:1"]}})",
            "TF_CONFIG: the key 'chief' occurs twice in one object"},
        bad{R"({"cluster": {"chief": ["a:1", "b:1"]}})",
            "TF_CONFIG: cluster.chief has 2 tasks; at most one is allowed"},
        bad{R"({"cluster": {"evaluator": ["a:1", "b:1"], "worker": ["c:1"]}})",
            "TF_CONFIG: cluster.evaluator has 2 tasks; at most one is allowed"},
        bad{R"({"task": "worker"})",
            "TF_CONFIG: task is a string, not an object such as {\"type\": \"worker\", \"index\": "
            "0}"},
        bad{R"({"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"index": 0}})",
            "TF_CONFIG: task has no type; write \"type\": one of ps, worker"},
        bad{R"({"task": {"index": 0}})", "TF_CONFIG: task has no type; write \"type\": \"worker\""},
        bad{R"({"task": {"type": ["worker"]}})", "TF_CONFIG: task.type is a list, not a job name"},
        bad{R"({"task": {"type": ""}})", "TF_CONFIG: task.type is empty; write a job name"},
        bad{R"({"task": {"type": "worker", "index": "zero"}})",
            "TF_CONFIG: task.index is 'zero'; it must be a whole number, 0 or greater"},
        bad{R"({"task": {"type": "worker", "index": ""}})",
            "TF_CONFIG: task.index is ''; it must be a whole number, 0 or greater"},
        bad{R"({"task": {"type": "worker", "index": 1.5}})",
            "TF_CONFIG: task.index is '1.5'; it must be a whole number, 0 or greater"},
        bad{R"({"task": {"type": "worker", "index": true}})",
            "TF_CONFIG: task.index is true or false, not a number"},
        bad{R"({"task": {"type": "worker", "index": -1}})",
            "TF_CONFIG: task.index is -1; it must be 0 or greater"},
        bad{R"({"task": {"type": "worker", "index": "-1"}})",
            "TF_CONFIG: task.index is -1; it must be 0 or greater"},
        bad{R"({"task": {"type": "worker", "index": 99999999999999999999}})",
            "TF_CONFIG: task.index is '1e+20'; it must be a whole number, 0 or greater"},
        bad{R"({"task": {"type": "worker", "index": 4294967296}})",
            "TF_CONFIG: task.index is 4294967296; the highest is 999999"},
        bad{R"({"task": {"type": "worker", "index": "1234567890123456789012345678901234567890)"
            R"(12345678901234567890123456789012345678901234567890"}})",
            "TF_CONFIG: task.index is '1234567890123456789012345678901234567890"
            "1234567890123456789012345678901234567890…'; the highest is 999999"},
        bad{R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}})",
            "TF_CONFIG: task.index is 1, but job 'worker' has tasks 0 to 0"},
        bad{R"({"cluster": {"worker": {"1": "a:1", "5": "b:1"}}, "task": {"type": "worker", "index": 2}})",
            "TF_CONFIG: task.index is 2, but job 'worker' has no such task"},
        bad{R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "wroker", "index": 0}})",
            "TF_CONFIG: task.type 'wroker' is not a job of the cluster (its jobs are worker)"},
        bad{R"({"rpc_layer": 1})", "TF_CONFIG: rpc_layer is a number, not a string in quotes"},
        bad{R"({"environment": {}})",
            "TF_CONFIG: environment is an object, not a string in quotes"},
        bad{R"({"session_master": "a\nb"})",
            "TF_CONFIG: session_master contains a control character"}));

}  // namespace
}  // namespace muster
