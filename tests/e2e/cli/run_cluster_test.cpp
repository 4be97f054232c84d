#include <gtest/gtest.h>

#include <csignal>
#include <set>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

constexpr char whole_cluster[] = R"({"chief": ["127.0.0.1:2001"],
  "worker": ["127.0.0.1:2002", "127.0.0.1:2003"], "ps": ["127.0.0.1:2004"],
  "evaluator": ["127.0.0.1:2005"]})";

TEST(run, sets_the_role_of_every_task) {
  cluster c;
  // The parameter server is stopped when the others have ended. They wait for its output first.
  auto const told = c.file("told").string();
  auto const script = "env; [ $MUSTER_TASK_TYPE != ps ] || : > " + told + "; until [ -e " + told +
                      " ]; do sleep 0.01; done";
  auto const r = c.run(sh({"--cluster-file", c.write("cluster.json", whole_cluster), "--output-dir",
                           c.file("out"), "--env", "MINE=mine"},
                          script),
                       {}, {{"RANK", "77"}, {"JAX_PROCESS_ID", "77"}});
  ASSERT_EQ(r.status, 0) << r.err;
  std::set<std::string> services;
  struct expected {
    std::string task, type, index, chief, master, rank;
  };
  for (auto const& e : {expected{"chief-0", "chief", "0", "1", "grpc://127.0.0.1:2001", "0"},
                        expected{"worker-0", "worker", "0", "0", "grpc://127.0.0.1:2002", "1"},
                        expected{"worker-1", "worker", "1", "0", "grpc://127.0.0.1:2003", "2"},
                        expected{"ps-0", "ps", "0", "0", "grpc://127.0.0.1:2004", ""},
                        expected{"evaluator-0", "evaluator", "0", "1", "", ""}}) {
    SCOPED_TRACE(e.task);
    auto v = variables(read_file(c.file("out") / (e.task + ".log")));
    EXPECT_EQ(v["MUSTER_TASK_TYPE"], e.type);
    EXPECT_EQ(v["MUSTER_TASK_INDEX"], e.index);
    EXPECT_EQ(v["MUSTER_IS_CHIEF"], e.chief);
    EXPECT_EQ(v["MUSTER_NUM_WORKERS"], "3");
    EXPECT_EQ(v["MUSTER_MASTER"], e.master);
    EXPECT_EQ(v["MUSTER_RESTART_COUNT"], "0");
    EXPECT_EQ(v["MINE"], "mine");
    EXPECT_EQ(v["TF_CONFIG"].find("evaluator\":[") != std::string::npos, e.type == "evaluator")
        << v["TF_CONFIG"];
    services.insert(v["MUSTER_COORDINATOR"]);
    for (auto const* name : {"RANK", "LOCAL_RANK", "JAX_PROCESS_ID"}) EXPECT_EQ(v[name], e.rank);
    auto const ranked = !e.rank.empty();
    for (auto const* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "JAX_NUM_PROCESSES"})
      EXPECT_EQ(v[name], ranked ? "3" : "");
    EXPECT_EQ(v["JAX_COORDINATOR_ADDRESS"], ranked ? v["MUSTER_COORDINATOR"] : "");
    EXPECT_EQ(v["JAX_COORDINATOR_BIND_ADDRESS"], e.rank == "0" ? v["MUSTER_COORDINATOR"] : "");
    EXPECT_EQ(v["MASTER_ADDR"], ranked ? "127.0.0.1" : "");
    EXPECT_NE(v["MASTER_PORT"], v["MUSTER_COORDINATOR"]);
  }
  EXPECT_EQ(services.size(), 1u) << "all tasks get the same service";
}

TEST(run, nproc_starts_workers_on_this_machine) {
  cluster c;
  auto const r = c.run(sh({"--nproc", "3", "--no-prefix"}, "echo $TF_CONFIG"));
  ASSERT_EQ(r.status, 0) << r.err;
  std::set<std::string> addresses, tasks;
  for (auto const& line : lines(r.out)) {
    auto const config = boost::json::parse(line);
    tasks.insert(boost::json::serialize(config.at("task")));
    for (auto const& a : config.at_pointer("/cluster/worker").as_array())
      addresses.insert(std::string(a.as_string()));
  }
  EXPECT_EQ(tasks.size(), 3u) << r.out;
  EXPECT_EQ(addresses.size(), 3u) << r.out;
}

TEST(run, independent_worker_starts_only_its_own_task) {
  cluster c;
  auto const config = R"({"cluster": {"worker": ["h1:1", "h2:2", "h2:3"]}, "rpc_layer": "cake",
                          "task": {"type": "worker", "index": 2}})";
  auto const r = c.run(sh({"--no-prefix"}, "env"), {}, {{"TF_CONFIG", config}});
  ASSERT_EQ(r.status, 0) << r.err;
  auto v = variables(r.out);
  EXPECT_EQ(v["MUSTER_MASTER"], "cake://h2:3");
  EXPECT_EQ(v["JAX_COORDINATOR_ADDRESS"], "h1:1") << "process 0 serves at its own address";
  EXPECT_EQ(v["MASTER_ADDR"] + " " + v["MASTER_PORT"], "h1 1");
  EXPECT_EQ(v["RANK"] + " " + v["LOCAL_RANK"] + " " + v["LOCAL_WORLD_SIZE"], "2 1 2");
  EXPECT_NE(v["TF_CONFIG"].find("\"rpc_layer\":\"cake\""), std::string::npos);
}

TEST(run, slurm_task_finds_its_own_role) {
  cluster c;
  auto const r = c.run(sh({"--cluster-from", "slurm", "--no-prefix"}, "env"), {},
                       {{"SLURM_PROCID", "1"},
                        {"SLURM_STEP_NUM_TASKS", "2"},
                        {"SLURM_STEP_NODELIST", "n[1-2]"},
                        {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}});
  ASSERT_EQ(r.status, 0) << r.err;
  auto v = variables(r.out);
  EXPECT_EQ(v["MUSTER_TASK_TYPE"] + ":" + v["MUSTER_TASK_INDEX"], "worker:1");
  EXPECT_EQ(v["JAX_COORDINATOR_ADDRESS"], "n1:8888");
  EXPECT_EQ(v["RANK"] + " of " + v["WORLD_SIZE"], "1 of 2");
  auto const outside = c.run(sh({"--cluster-from", "slurm"}, "env"));
  EXPECT_EQ(outside.status, 2) << "not in a step";
  EXPECT_EQ(lines(outside.err).size(), 1u) << outside.err;
}

TEST(run, muster_server_replaces_process_0_as_coordinator) {
  cluster c;
  for (environment const& set : {environment{}, environment{{"MUSTER_COORDINATOR", "s:8476"}}}) {
    words flags{"--nproc", "1", "--no-prefix"};
    if (set.empty()) flags.insert(flags.end(), {"--server", "s:8476"});
    auto v = variables(c.run(sh(flags, "env"), {}, set).out);
    EXPECT_EQ(v["JAX_COORDINATOR_ADDRESS"], "s:8476");
    EXPECT_EQ(v["MUSTER_COORDINATOR"], "s:8476");
    EXPECT_EQ(v["JAX_COORDINATOR_BIND_ADDRESS"], "127.0.0.1:0") << "out of the way";
  }
}

TEST(run, cluster_is_declared_and_deleted_at_the_end) {
  cluster c;
  c.serve();
  auto& run = c.spawn(sh({"--nproc", "3", "--declare", "train", "--url", c.url(), "--no-prefix"},
                         "echo $JAX_COORDINATOR_ADDRESS; sleep 1000"));
  ASSERT_TRUE(await([&] { return lines(run.output()).size() == 3; })) << run.errors();
  auto const declared = c.get("/api/v1/clusters/train");
  EXPECT_EQ(declared.at_pointer("/jobs/worker").to_number<int>(), 3);
  EXPECT_EQ(lines(run.output())[0], std::string(declared.at("address").as_string()));
  run.signal(SIGTERM);
  EXPECT_EQ(run.wait(), 128 + SIGTERM);
  EXPECT_EQ(c.status_of("/api/v1/clusters/train"), 404u);
}

TEST(run, in_graph_mode_runs_the_command_only_on_the_chief) {
  cluster c;
  c.serve();
  auto& run =
      c.spawn(sh({"--cluster-file", c.write("cluster.json", R"({"worker": ["a:1", "b:2"]})"),
                  "--in-graph", "--server", c.grpc()},
                 "while [ ! -e " + c.file("go").string() +
                     " ]; do sleep 0.05; done; "
                     "echo $MUSTER_TASK_TYPE:$MUSTER_TASK_INDEX"));
  ASSERT_TRUE(c.await_tasks(1)) << run.errors();
  EXPECT_EQ(c.tasks()[0].at("index").to_number<int>(), 1);
  c.write("go", "");
  EXPECT_EQ(run.wait(), 0) << run.errors();
  EXPECT_EQ(run.output(), "worker:0 | worker:0\n");
}

TEST(run, servers_are_stopped_once_all_others_are_done) {
  cluster c;
  auto const r = c.run(sh({"--cluster-file", c.write("cluster.json", whole_cluster)},
                          "[ $MUSTER_TASK_TYPE != ps ] || exec sleep 1000"));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
}

TEST(run, wrong_input_is_one_line_and_exit_status_2) {
  cluster c;
  struct wrong {
    words flags;
    environment set;
    std::string says;
  };
  auto const two = c.write("two.json", R"({"worker": ["a:1", "b:1"]})");
  for (auto const& w : std::vector<wrong>{
           {{}, {{"TF_CONFIG", "{"}}, "TF_CONFIG: not JSON"},
           {{}, {{"TF_CONFIG", R"({"cluster": {"worker": 3}})"}}, "TF_CONFIG"},
           {{},
            {{"TF_CONFIG", R"({"cluster": {"worker": ["a:1"]}, "task": {"type": "ps"}})"}},
            "ps"},
           {{"--nproc", "2"}, {{"TF_CONFIG", R"({"cluster": {"worker": ["a:1"]}})"}}, "--nproc"},
           {{"--nproc", "0"}, {}, "--nproc"},
           {{"--nproc", "257"}, {}, "--nproc"},
           {{"--cluster-file", "/nowhere"}, {}, "/nowhere"},
           {{"--cluster-file", two, "--nproc", "2"}, {}, "exclude"},
           {{"--cluster-file", two, "--task", "worker"}, {}, "worker:3"},
           {{"--cluster-file", two, "--task", "worker:2"}, {}, "2"},
           {{"--cluster-file", two, "--mode", "independent-worker"}, {}, "--task"},
           {{"--cluster-file", two, "--task", "worker:1", "--mode", "standalone-client"},
            {},
            "omit the task or --mode"},
           {{"--cluster-file", two, "--in-graph"}, {}, "--server"},
           {{"--in-graph", "--between-graph"}, {}, "graph"},
           {{"--env", "X"}, {}, "NAME=VALUE"},
           {{"--mode", "other"}, {}, "other"},
           {{}, {{"TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE", "many"}}, "from 1 to 255"}}) {
    auto const r = c.run(sh(w.flags, "echo ran"), {}, w.set);
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_EQ(lines(r.err).size(), 1u) << r.err;
    EXPECT_NE(r.err.find(w.says), std::string::npos) << r.err;
    EXPECT_EQ(r.out, "");
  }
  EXPECT_EQ(c.run({"run"}).status, 2);
}

}  // namespace
}  // namespace muster::e2e
