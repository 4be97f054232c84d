#include "muster/cluster_spec.hpp"
#include "tests/cluster/fixture.hpp"

namespace muster {
namespace spec_json_cases {

using testing::fault_of;

TEST(spec_json, lists_are_dense_and_objects_sparse) {
  auto const spec = cluster_spec::from_json(
      R"({"worker": ["a:1", "b:1"], "ps": {"3": "d:1", "0": "c:1"}, "evaluator": {}})");
  EXPECT_EQ(spec, cluster_spec({{"worker", {{0, "a:1"}, {1, "b:1"}}},
                                {"ps", {{0, "c:1"}, {3, "d:1"}}},
                                {"evaluator", {}}}));
  EXPECT_EQ(spec.to_json(),
            R"({"evaluator":{},"ps":{"0":"c:1","3":"d:1"},"worker":["a:1","b:1"]})");
  EXPECT_EQ(cluster_spec::from_json(spec.to_json()), spec);
}

TEST(spec_json, an_object_without_gaps_is_written_as_a_list) {
  EXPECT_EQ(cluster_spec::from_json(R"({"w": {"1": "b", "0": "a"}})").to_json(),
            R"({"w":["a","b"]})");
  EXPECT_EQ(cluster_spec::from_json("{}").to_json(), "{}");
}

TEST(spec_json, any_text_is_an_address) {
  auto const spec = cluster_spec::from_json(
      R"({"w": ["[::1]:80", "host", "10.0.0.1:8470", "unix:/run/x", "grpc://h:1"]})");
  EXPECT_EQ(spec.task_address("w", 0), "[::1]:80");
  EXPECT_EQ(spec.task_address("w", 1), "host");
  EXPECT_EQ(spec.task_address("w", 4), "grpc://h:1");
}

TEST(spec_json, indices_may_have_leading_zeros) {
  EXPECT_EQ(cluster_spec::from_json(R"({"w": {"03": "a"}})").task_indices("w"),
            (std::vector<int>{3}));
}

struct bad {
  char const* text;
  char const* line;
};

class malformed_spec : public ::testing::TestWithParam<bad> {};

TEST_P(malformed_spec, is_refused_with_the_place) {
  EXPECT_EQ(fault_of([] { cluster_spec::from_json(GetParam().text, "SPEC"); }), GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    spec_json, malformed_spec,
    ::testing::Values(
        bad{"", "SPEC: empty; it must be JSON"}, bad{" \n", "SPEC: empty; it must be JSON"},
        bad{"{'w': []}", "SPEC: not JSON at line 1, column 2: syntax error"},
        bad{"{\n \"w\": [,]}", "SPEC: not JSON at line 2, column 8: syntax error"},
        bad{"{\"w\": [", "SPEC: not JSON at line 1, column 8: incomplete JSON"},
        bad{"{} {}", "SPEC: not JSON at line 1, column 4: text after the JSON value"},
        bad{"[]", "SPEC: the value is a list, not an object such as {\"worker\": [\"host:2222\"]}"},
        bad{"null", "SPEC: the value is null, not an object such as {\"worker\": [\"host:2222\"]}"},
        bad{R"({"w": 3})",
            "SPEC: w is a number, neither a list of addresses nor an object from index to address"},
        bad{R"({"w": "a:1"})",
            "SPEC: w is a string, neither a list of addresses nor an object from index to address"},
        bad{R"({"w": ["a", 7]})", "SPEC: w[1] is a number, not a string such as \"host:2222\""},
        bad{R"({"w": {"4": null}})", "SPEC: w[4] is null, not a string such as \"host:2222\""},
        bad{R"({"w": [""]})", "SPEC: w[0] is empty; write an address such as \"host:2222\""},
        bad{R"({"w": {"x": "a"}})", "SPEC: w has the index 'x', which is not a number"},
        bad{R"({"w": {"": "a"}})", "SPEC: w has the index '', which is not a number"},
        bad{R"({"w": {"1.5": "a"}})", "SPEC: w has the index '1.5', which is not a number"},
        bad{R"({"w": {"-1": "a"}})", "SPEC: w has the index '-1', which is negative"},
        bad{R"({"w": {"99999999999999": "a"}})",
            "SPEC: w has the index '99999999999999'; the highest is 999999"},
        bad{R"({"w": {"1": "a", "01": "b"}})", "SPEC: w has the index 1 twice"},
        bad{R"({"w": {"1": "a", "1": "b"}})", "SPEC: the key '1' occurs twice in one object"},
        bad{R"({"w": ["a"], "w": ["b"]})", "SPEC: the key 'w' occurs twice in one object"},
        bad{R"({"": ["a"]})", "SPEC: a job has no name"},
        bad{R"({"w": ["a\u0000b"]})",
            "SPEC: job 'w', task 0: the address 'a\\x00b' contains a control character"}));

TEST(spec_json, deep_nesting_is_refused_without_a_crash) {
  auto const line = fault_of([] { cluster_spec::from_json(std::string(100'000, '['), "SPEC"); });
  EXPECT_NE(line.find("too deep"), std::string::npos) << line;
}

}  // namespace spec_json_cases
}  // namespace muster
