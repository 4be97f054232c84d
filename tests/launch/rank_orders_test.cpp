#include "launch/ranks/rank_orders.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "launch/ranks/oom_kills.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::launch {
namespace {

constexpr char two_hosts[] = R"({"logs": "/l", "work": "/w", "devices": {"1": "4,5"}, "start": {
  "program": "7", "attempt": 3, "name": "train", "restart": 2, "max_restarts": 5, "grace_ms": 1500,
  "task": [{"type": "worker", "address": ["h1:1", "h2:2", "h2:3"]}],
  "coordinator": "127.0.0.1:99", "meeting_point": "h1:9",
  "env": {"MINE": "mine", "MUSTER_PROGRAM": "another"},
  "rank": [{"rank": 1, "type": "worker", "index": 1, "command": ["python", "t.py"]},
           {"rank": 2, "type": "worker", "index": 2, "command": ["python", "t.py"]}]}})";

TEST(rank_orders, set_the_environment_of_each_rank) {
  auto const order = parse_order(two_hosts, {{"PATH", "/bin"}, {"RANK", "77"}});
  ASSERT_TRUE(order.start);
  EXPECT_EQ(order.start->logs, "/l");
  EXPECT_EQ(order.start->grace, std::chrono::milliseconds(1500));
  ASSERT_EQ(order.start->ranks.size(), 2u);
  auto const& first = order.start->ranks[0];
  auto const& program = first.program;
  EXPECT_EQ(first.rank, 1u);
  EXPECT_EQ(program.argv, (std::vector<std::string>{"python", "t.py"}));
  EXPECT_TRUE(first.own_cwd);
  EXPECT_EQ(program.cwd, "/w/1");
  EXPECT_EQ(first.refusal, "");
  auto v = program.environment;
  for (auto const& [name, value] :
       std::map<std::string, std::string>{{"PATH", "/bin"},
                                          {"MUSTER_PROGRAM", "train"},
                                          {"MUSTER_ATTEMPT", "3"},
                                          {"MUSTER_RESTART_COUNT", "2"},
                                          {"MUSTER_TASK_TYPE", "worker"},
                                          {"MUSTER_TASK_INDEX", "1"},
                                          {"MUSTER_COORDINATOR", "127.0.0.1:99"},
                                          {"JAX_COORDINATOR_ADDRESS", "127.0.0.1:99"},
                                          {"JAX_NUM_PROCESSES", "3"},
                                          {"JAX_PROCESS_ID", "1"},
                                          {"RANK", "1"},
                                          {"LOCAL_RANK", "0"},
                                          {"LOCAL_WORLD_SIZE", "2"},
                                          {"GROUP_RANK", "1"},
                                          {"MASTER_ADDR", "h1"},
                                          {"MASTER_PORT", "9"},
                                          {"TORCHELASTIC_MAX_RESTARTS", "5"},
                                          {"CUDA_VISIBLE_DEVICES", "4,5"},
                                          {"MINE", "mine"}})
    EXPECT_EQ(v[name], value) << name;
  EXPECT_EQ(order.start->ranks[1].program.environment.count("CUDA_VISIBLE_DEVICES"), 0u);
}

TEST(rank_orders, set_the_torch_store_unless_the_user_has_set_it) {
  std::string line = two_hosts;
  line.replace(line.find("\"index\": 1, "), 0, R"("store": "127.0.0.1:4711", )");
  auto const order = parse_order(line, {});
  auto v = order.start->ranks[0].program.environment;
  EXPECT_EQ(v["MASTER_ADDR"] + ":" + v["MASTER_PORT"], "127.0.0.1:4711");
  EXPECT_EQ(v["TORCHELASTIC_USE_AGENT_STORE"], "True") << "exactly so";
  EXPECT_EQ(v["TORCHELASTIC_RESTART_COUNT"], "2");
  EXPECT_EQ(v["RANK"] + " of " + v["WORLD_SIZE"], "1 of 3");
  v = order.start->ranks[1].program.environment;
  EXPECT_EQ(v["MASTER_ADDR"] + ":" + v["MASTER_PORT"], "h1:9");
  EXPECT_EQ(v["TORCHELASTIC_USE_AGENT_STORE"], "False") << "process 0 creates the store";
  for (auto const* said : {"MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_USE_AGENT_STORE"}) {
    auto own = line;
    own.replace(own.find("\"MINE\""), 6, "\"" + std::string(said) + "\"");
    v = parse_order(own, {}).start->ranks[0].program.environment;
    EXPECT_EQ(v[said], "mine");
    EXPECT_NE(v["MASTER_PORT"], "4711")
        << said << ": a partial set of variables would mislead the program";
    EXPECT_NE(v["TORCHELASTIC_USE_AGENT_STORE"], "True") << said;
  }
}

TEST(rank_orders, steps_are_reported_by_the_rank_or_by_its_launcher) {
  auto line = std::string(two_hosts);
  line.replace(line.find("\"logs\""), 0, R"("steps": "/s/7.3.", )");
  auto const itself = parse_order(line, {}).start->ranks[0];
  EXPECT_EQ(itself.program.environment.at("MUSTER_STEPS"), "/s/7.3.1");
  EXPECT_EQ(itself.step_pattern, "");
  line.replace(line.find("\"task\""), 0, R"x("step_pattern": "step (\\d+)", )x");
  auto const read = parse_order(line, {}).start->ranks[1];
  EXPECT_FALSE(read.program.environment.contains("MUSTER_STEPS"));
  EXPECT_EQ(read.step_file, "/s/7.3.2");
  EXPECT_EQ(read.step_pattern, "step (\\d+)");
}

TEST(rank_orders, task_types_can_have_any_name) {
  auto const order = parse_order(R"({"start": {"task": [{"type": "ps", "address": ["h:1"]},
    {"type": "actor", "address": ["h:2"]}, {"type": "learner", "address": ["h:3"]}],
    "own_service": "h:4",
    "rank": [{"rank": 2, "type": "learner", "command": ["x"]}]}})",
                                 {});
  auto v = order.start->ranks.at(0).program.environment;
  EXPECT_EQ(v["RANK"] + " of " + v["WORLD_SIZE"], "1 of 2") << "a ps has none";
  EXPECT_EQ(v["MUSTER_COORDINATOR"], "h:4");
}

TEST(rank_orders, unknown_user_is_named) {
  try {
    parse_order(R"({"user": "nobody-of-this-name", "start": {"rank": []}})", {});
    FAIL();
  } catch (std::exception const& e) {
    EXPECT_STREQ(e.what(), "--program-user: there is no user 'nobody-of-this-name' on this host");
  }
}

TEST(rank_orders, stop_order_sends_sigterm_to_all_ranks_by_default) {
  auto order = parse_order(R"({"stop": {"program": "7", "attempt": 1, "grace_ms": 20}})", {});
  ASSERT_TRUE(order.stop);
  EXPECT_TRUE(order.stop->ranks.empty());
  EXPECT_EQ(order.stop->signal, 15);
  order = parse_order(R"({"stop": {"rank": [0, 4], "signal": 2}, "lease_until_ns": 5})", {});
  EXPECT_EQ(order.stop->ranks, (std::vector<std::uint32_t>{0, 4}));
  EXPECT_EQ(order.stop->signal, 2);
  EXPECT_EQ(order.stop->grace.count(), 0);
  EXPECT_EQ(order.lease_until->time_since_epoch().count(), 5);
  EXPECT_ANY_THROW(parse_order("{", {}));
  EXPECT_ANY_THROW(parse_order(R"({"start": {}})", {}));
}

class oom_kills_of_groups : public testing::Test {
 protected:
  void put(std::string const& file, std::string const& text) {
    auto const path = std::filesystem::path(groups_.path()) / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::uint64_t in(std::string const& own) { return oom_kills_of(own, groups_.path()); }

  muster::test::temporary_directory groups_;
};

TEST_F(oom_kills_of_groups, are_read_from_memory_events_in_version_2) {
  put("a/b/memory.events", "low 0\nhigh 4\nmax 0\noom 9\noom_kill 3\noom_group_kill 0\n");
  EXPECT_EQ(in("0::/a/b\n"), 3u);
  EXPECT_EQ(in("0::/a/c\n"), 0u);
  EXPECT_EQ(in(""), 0u);
  EXPECT_EQ(in("no groups at all\n"), 0u);
}

TEST_F(oom_kills_of_groups, are_read_from_memory_oom_control_in_version_1) {
  put("memory/job/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  put("unified/memory.events", "oom_kill 1\n");
  EXPECT_EQ(in("4:cpu,cpuacct:/job\n3:memory:/job\n0::/\n"), 6u) << "both, on a hybrid host";
}

TEST_F(oom_kills_of_groups, container_counts_come_from_the_mounted_root) {
  put("memory/memory.oom_control", "oom_kill 2\n");
  EXPECT_EQ(in("3:memory:/docker/0123\n"), 2u);
}

}  // namespace
}  // namespace muster::launch
