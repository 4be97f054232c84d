// TensorFlow's test names first, then further behaviour.
#include "muster/slurm_resolver.hpp"
#include "tests/cluster/fixture.hpp"

namespace muster {
namespace slurm_cases {

using testing::environment;
using testing::fault_of;
using variables = std::map<std::string, std::string>;
using options = slurm_resolver::options;
using gpus = std::map<std::string, int>;

variables three_hosts(variables more = {{"SLURM_STEP_TASKS_PER_NODE", "1(x3)"}}) {
  more.insert({{"SLURM_PROCID", "0"},
               {"SLURM_STEP_NUM_TASKS", "3"},
               {"SLURM_STEP_NODELIST", "t02n13,t02n41,t02n43"}});
  return more;
}

variables five_tasks() {
  return {{"SLURM_PROCID", "1"},
          {"SLURM_STEP_NUM_TASKS", "5"},
          {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
          {"SLURM_STEP_NODELIST", "t02n13,t02n41,t02n43"},
          {"CUDA_VISIBLE_DEVICES", ""}};
}

options ps_and_workers(int workers, int per_node, int per_task) {
  options o;
  o.jobs = {{"ps", 1}, {"worker", workers}};
  o.gpus_per_node = per_node;
  o.gpus_per_task = per_task;
  return o;
}

constexpr auto* one_ps_two_workers =
    R"({"ps":["t02n13:8888"],"worker":["t02n41:8888","t02n43:8888"]})";
constexpr auto* one_ps_four_workers =
    R"({"ps":["t02n13:8888"],)"
    R"("worker":["t02n13:8889","t02n41:8888","t02n41:8889","t02n43:8888"]})";

std::vector<std::string> hosts(char const* text) {
  return expand_hostlist(text, "LIST");
}
std::vector<int> counts(char const* text) {
  return expand_task_counts(text, "COUNTS");
}

TEST(SlurmClusterResolver, test_expand_hostlist) {
  using list = std::vector<std::string>;
  EXPECT_EQ(hosts("n1"), (list{"n1"}));
  EXPECT_EQ(hosts("n[1,3]"), (list{"n1", "n3"}));
  EXPECT_EQ(hosts("n[1-3]"), (list{"n1", "n2", "n3"}));
  EXPECT_EQ(hosts("n[1-2],m5,o[3-4,6,7-9]"),
            (list{"n1", "n2", "m5", "o3", "o4", "o6", "o7", "o8", "o9"}));
  EXPECT_EQ(hosts("n[0001-0003],m5,o[009-011]"),
            (list{"n0001", "n0002", "n0003", "m5", "o009", "o010", "o011"}));
  EXPECT_EQ(hosts("n[1-2,05-07], m5"), (list{"n1", "n2", "n05", "n06", "n07", "m5"}));
  EXPECT_EQ(hosts("r[0-1]n[8-9]-ib"), (list{"r0n8-ib", "r0n9-ib", "r1n8-ib", "r1n9-ib"}));
}

TEST(SlurmClusterResolver, test_expand_tasks_per_node) {
  EXPECT_EQ(counts("2"), (std::vector<int>{2}));
  EXPECT_EQ(counts("2,1,3"), (std::vector<int>{2, 1, 3}));
  EXPECT_EQ(counts("3(x2),2,11(x4)"), (std::vector<int>{3, 3, 2, 11, 11, 11, 11}));
  EXPECT_EQ(counts("13(x10)"), std::vector<int>(10, 13));
}

TEST(SlurmClusterResolver, testSimpleRetrievalFromEnv) {
  auto v = three_hosts();
  v["CUDA_VISIBLE_DEVICES"] = "0";
  slurm_resolver r(environment(v));
  EXPECT_EQ(r.cluster_spec().to_json(),
            R"({"worker":["t02n13:8888","t02n41:8888","t02n43:8888"]})");
  EXPECT_EQ(r.master("worker", 0, "grpc"), "grpc://t02n13:8888");
  EXPECT_EQ(r.num_accelerators(), (gpus{{"GPU", 1}}));
  EXPECT_EQ(r.visible_gpus(), "0");
  EXPECT_EQ(r.task_type(), "worker");
  EXPECT_EQ(r.task_id(), 0);
}

TEST(SlurmClusterResolver, testSimpleSuccessfulRetrieval) {
  auto o = ps_and_workers(2, 1, 1);
  o.tasks_per_node = "1";
  EXPECT_EQ(slurm_resolver(environment(three_hosts({})), o).cluster_spec().to_json(),
            one_ps_two_workers);
}

TEST(SlurmClusterResolver, testSimpleMasterRetrieval) {
  auto o = ps_and_workers(2, 1, 1);
  o.tasks_per_node = "1";
  slurm_resolver r(environment(three_hosts({})), o);
  EXPECT_EQ(r.master(), "grpc://t02n13:8888") << "its own, rank 0";
  r.task_type("worker");
  r.task_id(1);
  EXPECT_EQ(r.master(), "grpc://t02n43:8888");
  r.rpc_layer("ab");
  EXPECT_EQ(r.master("ps", 0), "ab://t02n13:8888");
  EXPECT_EQ(r.master("ps", 0, "test"), "test://t02n13:8888");
}

TEST(SlurmClusterResolver, testTaskPerNodeNotSetRetrieval) {
  slurm_resolver r(environment(three_hosts()), ps_and_workers(2, 1, 1));
  EXPECT_EQ(r.cluster_spec().to_json(), one_ps_two_workers);
}

TEST(SlurmClusterResolver, testMultiTaskPerNodeRetrieval) {
  slurm_resolver r(environment(five_tasks()), ps_and_workers(4, 2, 1));
  EXPECT_EQ(r.cluster_spec().to_json(), one_ps_four_workers);
  EXPECT_EQ(r.visible_gpus(), "1");
  EXPECT_EQ(r.task_type(), "worker");
  EXPECT_EQ(r.task_id(), 0);
}

TEST(SlurmClusterResolver, testMultipleGpusPerTaskRetrieval) {
  slurm_resolver r(environment(five_tasks()), ps_and_workers(4, 4, 2));
  EXPECT_EQ(r.cluster_spec().to_json(), one_ps_four_workers);
  EXPECT_EQ(r.visible_gpus(), "2,3");
  EXPECT_EQ(r.num_accelerators(), (gpus{{"GPU", 2}}));
}

TEST(slurm, missing_gpu_is_no_error) {
  options o;
  o.count_gpus = [] { return 0; };
  slurm_resolver r(environment(three_hosts()), o);
  EXPECT_EQ(r.cluster_spec().size(), 3u);
  EXPECT_TRUE(r.num_accelerators().empty());
  EXPECT_EQ(r.visible_gpus(), "");
}

TEST(slurm, gpus_are_the_visible_ones_of_the_node) {
  options o;
  o.count_gpus = [] { return 8; };
  EXPECT_EQ(slurm_resolver(environment(three_hosts()), o).num_accelerators(), (gpus{{"GPU", 8}}));
  auto v = five_tasks();
  v["CUDA_VISIBLE_DEVICES"] = "4,6,-1,7";
  slurm_resolver r(environment(v), o);
  EXPECT_EQ(r.num_accelerators(), (gpus{{"GPU", 1}}));
  EXPECT_EQ(r.visible_gpus(), "6") << "the second task of the host has the second GPU";
}

TEST(slurm, hosts_keep_the_order_of_their_ranks) {
  auto v = three_hosts();
  v["SLURM_STEP_NODELIST"] = "n[9-10],a1";
  EXPECT_EQ(slurm_resolver(environment(v)).cluster_spec().to_json(),
            R"({"worker":["n9:8888","n10:8888","a1:8888"]})");
}

TEST(slurm, ranks_follow_the_slurm_distribution) {
  auto v = five_tasks();
  auto const spec = [&] { return slurm_resolver(environment(v)).cluster_spec().to_json(); };
  v["SLURM_STEP_NODELIST"] = "a,b,c";
  v["SLURM_DISTRIBUTION"] = "cyclic:block,NoPack";
  EXPECT_EQ(spec(), R"({"worker":["a:8888","b:8888","c:8888","a:8889","b:8889"]})");
  v["SLURM_STEP_TASKS_PER_NODE"] = "3,1(x2)";
  v["SLURM_DISTRIBUTION"] = "plane";
  v["SLURM_DIST_PLANESIZE"] = "2";
  EXPECT_EQ(spec(), R"({"worker":["a:8888","a:8889","b:8888","c:8888","a:8890"]})");
  v["SLURM_DISTRIBUTION"] = "block:cyclic";
  EXPECT_EQ(spec(), R"({"worker":["a:8888","a:8889","a:8890","b:8888","c:8888"]})");
}

TEST(slurm, a_variable_that_is_not_there_is_named) {
  for (auto const* name : {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST",
                           "SLURM_STEP_TASKS_PER_NODE"}) {
    auto v = three_hosts();
    v.erase(name);
    EXPECT_EQ(fault_of([&] { slurm_resolver(environment(v)).cluster_spec(); },
                       cluster_error::code::missing),
              std::string(name) +
                  " is not set: this process is not a task of a Slurm step; start it with srun");
  }
}

struct bad {
  char const* name;
  char const* value;
  char const* line;
};
class contradictory_step : public ::testing::TestWithParam<bad> {};

TEST_P(contradictory_step, is_refused_with_the_variable) {
  auto v = three_hosts();
  v[GetParam().name] = GetParam().value;
  EXPECT_EQ(fault_of([&] { slurm_resolver(environment(v)).cluster_spec(); }), GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    slurm, contradictory_step,
    ::testing::Values(
        bad{"SLURM_PROCID", "3", "SLURM_PROCID: 3 is not less than SLURM_STEP_NUM_TASKS, 3"},
        bad{"SLURM_PROCID", "x", "SLURM_PROCID: 'x' is not a number from 0 to 999999"},
        bad{"SLURM_STEP_NUM_TASKS", "0",
            "SLURM_STEP_NUM_TASKS: '0' is not a number from 1 to 1000000"},
        bad{"SLURM_STEP_NUM_TASKS", "4",
            "SLURM_STEP_TASKS_PER_NODE: the hosts have 3 tasks in total, but SLURM_STEP_NUM_TASKS "
            "is 4"},
        bad{"SLURM_STEP_TASKS_PER_NODE", "1,2",
            "SLURM_STEP_TASKS_PER_NODE: the value lists 2 hosts, but SLURM_STEP_NODELIST has 3"},
        bad{"SLURM_DISTRIBUTION", "arbitrary",
            "SLURM_DISTRIBUTION: 'arbitrary' does not define the host of each rank; use block, "
            "cyclic or plane"},
        bad{"SLURM_DISTRIBUTION", "plane",
            "SLURM_DIST_PLANESIZE is not set, but SLURM_DISTRIBUTION is 'plane': pass the size to "
            "srun as --distribution=plane=SIZE"}));

TEST(slurm, options_that_do_not_fit_are_refused) {
  auto const fault = [](auto change) {
    options o;
    change(o);
    return fault_of([&] { slurm_resolver(environment(three_hosts()), o).cluster_spec(); });
  };
  EXPECT_EQ(fault([](options& o) {
              o.jobs = {{"ps", 1}, {"worker", 1}};
            }),
            "jobs: ps=1, worker=1 add up to 2 tasks, but SLURM_STEP_NUM_TASKS is 3");
  EXPECT_EQ(fault([](options& o) { o.jobs = {{"ps", -1}}; }), "jobs: 'ps': -1 is less than 0");
  EXPECT_EQ(fault([](options& o) { o.gpus_per_node = 1, o.gpus_per_task = 2; }),
            "gpus_per_task: 2 GPUs for each of 1 tasks on a host exceed its 1 GPUs");
  EXPECT_EQ(fault([](options& o) { o.gpus_per_node = -1; }), "gpus_per_node: -1 is less than 0");
  EXPECT_EQ(fault([](options& o) { o.port_base = 0; }), "port_base: 0 is less than 1");
  EXPECT_EQ(fault([](options& o) { o.port_base = 65536; }),
            "port_base: 65536 is too high for 1 tasks on a host; the highest port is 65535");
  EXPECT_EQ(fault([](options& o) { o.tasks_per_node = "2"; }),
            "tasks_per_node: the hosts have 6 tasks in total, but SLURM_STEP_NUM_TASKS is 3");
}

class malformed_hostlist : public ::testing::TestWithParam<std::pair<char const*, char const*>> {};

TEST_P(malformed_hostlist, is_refused) {
  auto const [text, what] = GetParam();
  EXPECT_EQ(fault_of([text = text] { hosts(text); }),
            "LIST: " + std::string(what) + "; write a list as in n[1-2,05-07],m5");
}

INSTANTIATE_TEST_SUITE_P(
    slurm, malformed_hostlist,
    ::testing::Values(std::pair("", "the list is empty"), std::pair(" ", "the list is empty"),
                      std::pair("n1,", "there is a host without a name in 'n1,'"),
                      std::pair(",n1", "there is a host without a name in ',n1'"),
                      std::pair("n[1-2", "a bracket is unbalanced in 'n[1-2'"),
                      std::pair("n1-2]", "a bracket is unbalanced in 'n1-2]'"),
                      std::pair("n[[1]]", "a bracket is unbalanced in 'n[[1]]'"),
                      std::pair("n[]", "'' is neither a number nor a range"),
                      std::pair("n[a]", "'a' is neither a number nor a range"),
                      std::pair("n[1-]", "'1-' is neither a number nor a range"),
                      std::pair("n[1-2-3]", "'1-2-3' is neither a number nor a range"),
                      std::pair("n[3-1]", "the range '3-1' must be ascending"),
                      std::pair("n[9999999999999999999]",
                                "'9999999999999999999' is neither a number nor a range"),
                      std::pair("a b", "'a b' is not a host name")));

TEST(slurm, a_host_that_is_there_twice_is_refused) {
  EXPECT_EQ(fault_of([] { hosts("n[1-3],n2"); }), "LIST: the host 'n2' is listed twice");
}

TEST(slurm, expansion_has_a_limit) {
  auto const line = "LIST: more than 100000 hosts, which is the limit";
  EXPECT_EQ(hosts("n[1-100000]").size(), 100'000u);
  for (auto const* text : {"n[1-100001]", "n[0-999999999999999999]", "n[1-50000],m[1-50001]",
                           "n[1-1000]m[1-1000]", "n[1-99999,5-10]"})
    EXPECT_EQ(fault_of([&] { hosts(text); }), line) << text;
  EXPECT_EQ(fault_of([] { expand_task_counts("1(x3)", "COUNTS", 2); }),
            "COUNTS: more than 2 hosts, which is the limit");
  EXPECT_EQ(fault_of([] { counts("1(x1000000)"); }),
            "COUNTS: more than 100000 hosts, which is the limit");
}

// Each name is checked before it is repeated for each number.
TEST(slurm, names_have_a_limit) {
  auto const long_name = std::string(250, 'n');
  EXPECT_EQ(hosts((long_name + "[1-2]").c_str()).size(), 2u);
  std::string brackets;
  for (int i = 0; i < 300; ++i) brackets += "[1]";
  for (auto const& text :
       {long_name + "[1-2]abc", std::string(100'000, 'n') + "[1-100000]", brackets + "[1-100000]"})
    EXPECT_NE(fault_of([&] { hosts(text.c_str()); }).find("has more than 253 bytes"),
              std::string::npos);
}

TEST(slurm, malformed_counts_are_refused) {
  for (auto const* text : {"", "x", "0", "3(x0)", "3(x2", "3(x)", "3x2", "-1", "3(x2)4", "2000000"})
    EXPECT_EQ(fault_of([&] { counts(text); }),
              "COUNTS: '" + std::string(text) +
                  "' is not a number of tasks; write counts as in 3(x2),2,1");
}

}  // namespace slurm_cases
}  // namespace muster
