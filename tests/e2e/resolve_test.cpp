#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

using environment = std::vector<std::pair<std::string, std::string>>;

finished resolve(words more, environment variables = {}) {
  cluster c;
  more.insert(more.begin(), "resolve");
  return c.run(more, {}, std::move(variables));
}

environment tf_config(std::string const& text) {
  return {{"TF_CONFIG", text}};
}

auto const two_workers = tf_config(R"({"cluster": {"worker": ["a:1", "b:1"]},
                                       "task": {"type": "worker", "index": 1},
                                       "rpc_layer": "grpc"})");

/// Replaces a file by renaming, so that readers never see a partial file.
void replace(cluster const& c, std::string const& name, std::string const& text) {
  std::filesystem::rename(c.write(name + ".new", text), c.file(name));
}

TEST(resolve, prints_the_spec_as_json_or_table) {
  auto const json = resolve({"tf-config"}, two_workers);
  EXPECT_EQ(json.status, 0) << json.err;
  EXPECT_EQ(json.out, "{\"worker\":[\"a:1\",\"b:1\"]}\n");
  auto const table = resolve({"--kind", "tf-config", "--output", "table"}, two_workers);
  EXPECT_EQ(table.out, "JOB     TASK  ADDRESS\nworker     0  a:1\nworker     1  b:1\n");
}

TEST(resolve, prints_its_task_and_the_master) {
  auto const text = resolve({"tf-config", "--task", "--master", "--output", "table"}, two_workers);
  EXPECT_EQ(text.out, "task         worker:1\nmaster       grpc://b:1\nenvironment  none\n")
      << text.err;
  auto const json = resolve({"tf-config", "--task", "--master"}, two_workers);
  EXPECT_EQ(json.out,
            "{\"task\":{\"type\":\"worker\",\"index\":1},\"master\":\"grpc://b:1\","
            "\"environment\":\"\",\"rpc_layer\":\"grpc\"}\n");
  auto const alone = resolve({"tf-config", "--task"});
  EXPECT_EQ(alone.out,
            "{\"task\":{\"type\":null,\"index\":null},\"environment\":\"\",\"rpc_layer\":\"\"}\n");
}

TEST(resolve, prints_the_master_and_the_accelerators_of_a_chosen_task) {
  auto const master = [](words more) {
    more.insert(more.begin(), {"tf-config", "--master"});
    auto const f = resolve(more, two_workers);
    return f.status == 0 ? f.out : f.err;
  };
  auto const rest = std::string("\"environment\":\"\",\"rpc_layer\":\"grpc\"}\n");
  EXPECT_EQ(master({"--of", "worker:0"}), "{\"master\":\"grpc://a:1\"," + rest);
  EXPECT_EQ(master({"--of", ":0", "--rpc-layer", "x"}), "{\"master\":\"x://a:1\"," + rest);
  EXPECT_EQ(master({"--of", "worker", "--rpc-layer", "none"}), "{\"master\":\"b:1\"," + rest);
  EXPECT_NE(master({"--of", "worker:x"}).find("--of: 'worker:x' is not a task"), std::string::npos);
  EXPECT_EQ(resolve({"tf-config", "--of", "worker:0"}, two_workers).status, 2);
  cluster c;
  auto const devices = c.write("devices",
                               "/job:worker/replica:0/task:0/device:GPU:0\n"
                               "/job:worker/replica:0/task:1/device:GPU:0\n"
                               "/job:worker/replica:0/task:1/device:GPU:1\n");
  words const count{"tf-config", "--accelerators", "--devices", devices.string()};
  EXPECT_EQ(resolve(count, two_workers).out, "{\"GPU\":2}\n") << "of its own task";
  auto of_one = count;
  of_one.insert(of_one.end(), {"--of", "worker:0"});
  EXPECT_EQ(resolve(of_one, two_workers).out, "{\"GPU\":1}\n");
}

TEST(resolve, answers_the_same_in_a_task_of_muster_run) {
  auto variables = two_workers;
  for (auto const name : {"MUSTER_MASTER", "MUSTER_COORDINATOR"})
    variables.emplace_back(name, "127.0.0.1:8476");
  auto const f = resolve({"tf-config"}, variables);
  EXPECT_EQ(f.out, "{\"worker\":[\"a:1\",\"b:1\"]}\n") << f.err;
  EXPECT_NE(resolve({"tf-config"}, {{"MUSTER_MASTER", "true"}, two_workers.front()})
                .out.find("grpc://b:1"),
            std::string::npos);
}

TEST(resolve, reads_a_slurm_step) {
  environment const step{{"SLURM_PROCID", "2"},
                         {"SLURM_STEP_NUM_TASKS", "3"},
                         {"SLURM_STEP_NODELIST", "n[09-10]"},
                         {"SLURM_STEP_TASKS_PER_NODE", "2,1"},
                         {"CUDA_VISIBLE_DEVICES", ""}};
  auto const f = resolve({"slurm:jobs=ps=1,worker=2"}, step);
  EXPECT_EQ(f.out, "{\"ps\":[\"n09:8888\"],\"worker\":[\"n09:8889\",\"n10:8888\"]}\n") << f.err;
}

TEST(resolve, errors_are_one_line_with_an_exit_status) {
  struct {
    words typed;
    environment variables;
    int status;
    char const* line;
  } const all[] = {
      {{}, {}, 2, "the resolver is missing; pass one, as in 'muster resolve tf-config'"},
      {{"consul"}, {}, 2, "--kind: unknown resolver kind 'consul' (known kinds: simple, file, "},
      {{"file:/nowhere"}, {}, 1, "'/nowhere': No such file or directory"},
      {{"slurm"},
       {},
       1,
       "SLURM_STEP_NUM_TASKS is not set: this process is not a task of a Slurm step"},
      {{"tf-config"}, tf_config("{]"), 2, "TF_CONFIG: not JSON at line 1, column 2"},
      {{"tf-config", "--wait"}, tf_config("{]"), 2, "TF_CONFIG: not JSON at line 1, column 2"},
      {{"tf-config", "--watch", "--task"}, {}, 2, "--watch excludes"},
  };
  for (auto const& one : all) {
    auto const f = resolve(one.typed, one.variables);
    EXPECT_EQ(f.status, one.status) << f.err;
    EXPECT_NE(f.err.find(one.line), std::string::npos) << f.err;
    EXPECT_EQ(std::count(f.err.begin(), f.err.end(), '\n'), 1) << f.err;
    EXPECT_EQ(f.out, "");
  }
}

TEST(resolve, wait_continues_until_the_resolver_answers) {
  cluster c;
  auto& waiting = c.spawn({"resolve", "file:" + c.file("spec").string(), "--wait"});
  ASSERT_TRUE(await([&] { return waiting.errors().find("waiting: ") != std::string::npos; }, 60s))
      << waiting.errors();
  replace(c, "spec", R"({"worker": ["a:1"]})");
  EXPECT_EQ(waiting.wait(60s), 0) << waiting.errors();
  EXPECT_EQ(waiting.output(), "{\"worker\":[\"a:1\"]}\n");
}

TEST(resolve, wait_fails_at_its_timeout) {
  auto const f = resolve({"file:/nowhere", "--wait", "--timeout", "10ms"});
  EXPECT_EQ(f.status, 1);
  EXPECT_NE(f.err.find("not resolved within 10ms: '/nowhere': No such file"), std::string::npos)
      << f.err;
}

TEST(resolve, watch_prints_one_line_per_change) {
  cluster c;
  replace(c, "spec", R"({"worker": ["a:1"]})");
  auto& watching =
      c.spawn({"resolve", "file:" + c.file("spec").string(), "--watch", "--interval", "20ms"});
  auto const prints = [&](std::string const& all) {
    return await([&] { return watching.output() == all; }, 60s);
  };
  std::string lines = "{\"worker\":[\"a:1\"]}\n";
  EXPECT_TRUE(prints(lines)) << watching.output() << watching.errors();
  replace(c, "spec", R"({"worker": ["a:1", "b:1"]})");
  EXPECT_TRUE(prints(lines += "{\"worker\":[\"a:1\",\"b:1\"]}\n")) << watching.output();
  replace(c, "spec", "nonsense");
  EXPECT_TRUE(await([&] { return watching.errors().find("not JSON") != std::string::npos; }, 60s));
  replace(c, "spec", R"({"worker": ["b:1"]})");
  EXPECT_TRUE(prints(lines += "{\"worker\":[\"b:1\"]}\n")) << watching.output();
  watching.signal(SIGTERM);
  EXPECT_EQ(watching.wait(60s), 0) << watching.errors();
}

}  // namespace
}  // namespace muster::e2e
