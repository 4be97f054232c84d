// `muster run` as those type it who know torchrun, and what it tells programs that torchrun does.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

constexpr char script[] = R"(import os, sys
print(sys.argv[1:], os.environ['RANK'], os.environ['WORLD_SIZE'], flush=True)
)";

TEST(run_as_torchrun, a_script_needs_no_dashes_and_no_interpreter) {
  cluster c;
  auto const file = c.write("train.py", script).string();
  for (auto const& flags : {words{"--nproc-per-node", "2"}, words{"--nproc_per_node=2"},
                            words{"-n", "2"}, words{"--nproc", "2", "--nnodes", "1"},
                            words{"--standalone", "--nnodes=1:1", "--nproc-per-node=2"},
                            words{"-n2", "--rdzv-backend=c10d", "--rdzv_endpoint=localhost:0",
                                  "--rdzv-id=7", "--max_restarts=1"}}) {
    auto all = flags;
    all.insert(all.begin(), "run");
    all.insert(all.end(), {"--no-prefix", file, "--epochs", "3", "--nproc", "9"});
    auto const r = c.run(all);
    EXPECT_EQ(r.status, 0) << r.err;
    auto told = lines(r.out);
    std::sort(told.begin(), told.end());
    EXPECT_EQ(told, (std::vector<std::string>{"['--epochs', '3', '--nproc', '9'] 0 2",
                                              "['--epochs', '3', '--nproc', '9'] 1 2"}))
        << flags.front();
  }
}

TEST(run_as_torchrun, any_command_needs_no_dashes) {
  cluster c;
  auto const r = c.run({"run", "--no-prefix", "sh", "-c", "echo $RANK; exit 3", "--", "x"});
  EXPECT_EQ(r.status, 2) << "whose -- is it?";
  EXPECT_NE(r.err.find("'sh' stands before --: write the whole command behind it"),
            std::string::npos)
      << r.err;
  auto const plain = c.run({"run", "--no-prefix", "sh", "-c", "echo $RANK; exit 3"});
  EXPECT_EQ(plain.status, 3) << plain.err;
  EXPECT_EQ(plain.out, "0\n");
}

TEST(run_as_torchrun, a_module_is_run_as_one) {
  cluster c;
  auto const r = c.run({"run", "--no-prefix", "-m", "json.tool", "--help"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("json.tool"), std::string::npos) << r.out;
}

TEST(run_as_torchrun, as_many_as_the_machine_has) {
  cluster c;
  auto const script = "[ $RANK = 0 ] && echo $WORLD_SIZE || :";
  auto const cpus = c.run(sh({"--nproc", "cpu", "--no-prefix"}, script));
  EXPECT_EQ(cpus.status, 0) << cpus.err;
  EXPECT_GE(std::stoi("0" + cpus.out), 1);
  environment const two{{"CUDA_VISIBLE_DEVICES", "0,1"}}, none{{"CUDA_VISIBLE_DEVICES", ""}};
  for (auto const* word : {"auto", "gpu"})
    EXPECT_EQ(c.run(sh({"--nproc-per-node", word, "--no-prefix"}, script), {}, two).out, "2\n");
  EXPECT_EQ(c.run(sh({"--nproc", "auto", "--no-prefix"}, script), {}, none).out, cpus.out);
  auto const no_gpu = c.run(sh({"--nproc", "gpu"}, script), {}, none);
  EXPECT_EQ(no_gpu.status, 2);
  EXPECT_NE(no_gpu.err.find("no NVIDIA device is visible"), std::string::npos) << no_gpu.err;
}

TEST(run_as_torchrun, what_means_something_else_here_is_an_error_that_says_what_to_use) {
  cluster c;
  struct wrong {
    words flags;
    std::string said;
  };
  for (auto const& w :
       {wrong{{"--nnodes", "2"}, "--cluster-from"}, wrong{{"--nnodes=1:4"}, "--cluster-file"},
        wrong{{"--node-rank", "1"}, "--task"}, wrong{{"--rdzv-endpoint", "far:29400"}, "--task"},
        wrong{{"--master_addr", "far"}, "--cluster-from"},
        wrong{{"--rdzv-backend", "etcd-v2"}, "no rendezvous"},
        wrong{{"--rdzv_conf", "timeout=9"}, "no rendezvous"},
        wrong{{"--log-dir=x"}, "--output-dir"}, wrong{{"-t", "3"}, "--output-dir"},
        wrong{{"--monitor_interval", "1"}, "leave it away"},
        wrong{{"--nproc", "many"}, "nor auto, gpu or cpu"}, wrong{{"--nproc", "0"}, "at least one"},
        wrong{{"--nproc", "257"}, "at most 256"}, wrong{{"--master-port", "70000"}, "65535"},
        wrong{{"--cluster-file", "x", "--nnodes", "2"}, "leave it away"},
        wrong{{"--nprocs", "2"}, "did you mean --nproc?"}}) {
    auto all = w.flags;
    all.insert(all.begin(), "run");
    all.push_back("true");
    auto const r = c.run(all);
    EXPECT_EQ(r.status, 2) << w.flags.front() << r.err;
    EXPECT_NE(r.err.find(w.said), std::string::npos) << w.flags.front() << ": " << r.err;
  }
}

TEST(run_as_torchrun, a_port_beside_a_cluster_that_has_one_is_an_error) {
  cluster c;
  auto const file = c.write("c.json", R"({"worker": ["127.0.0.1:1", "127.0.0.1:2"]})").string();
  words const flags{"--cluster-file", file, "--master-port", "4711", "--no-prefix"};
  auto own = flags;
  own.insert(own.end(), {"--task", "worker:0"});
  auto const refused = c.run(sh(own, "true"));
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("--master-port: the cluster says where its tasks meet"),
            std::string::npos)
      << refused.err;
  auto const here = c.run(sh(flags, "[ $RANK = 0 ] && echo $MASTER_PORT || :"));
  EXPECT_EQ(here.out, "4711\n") << here.err << "all of them are on this machine";
}

TEST(run_as_torchrun, tells_what_torchrun_tells) {
  cluster c;
  auto const r = c.run(sh({"--nproc", "2", "--max-restarts", "3", "--rdzv-id", "night",
                           "--master-port", "4711", "--no-prefix"},
                          "[ $RANK = 0 ] || exit 0; env"),
                       {}, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"OMP_NUM_THREADS", ""}});
  ASSERT_EQ(r.status, 0) << r.err;
  auto v = variables(r.out);
  for (auto const& [name, value] :
       {std::pair("GROUP_RANK", "0"), std::pair("GROUP_WORLD_SIZE", "1"),
        std::pair("ROLE_RANK", "0"), std::pair("ROLE_WORLD_SIZE", "2"),
        std::pair("ROLE_NAME", "default"), std::pair("TORCHELASTIC_RESTART_COUNT", "0"),
        std::pair("TORCHELASTIC_MAX_RESTARTS", "3"), std::pair("TORCHELASTIC_RUN_ID", "night"),
        std::pair("TORCHELASTIC_USE_AGENT_STORE", "False"), std::pair("MASTER_ADDR", "127.0.0.1"),
        std::pair("MASTER_PORT", "4711")})
    EXPECT_EQ(v[name], value) << name;
}

TEST(run_as_torchrun, one_thread_a_task_where_several_share_a_machine_unless_told) {
  cluster c;
  auto const threads = [&](words flags, environment const& env) {
    flags.push_back("--no-prefix");
    return c.run(sh(flags, "[ $RANK = 0 ] && echo ${OMP_NUM_THREADS-none} || :"), {}, env).out;
  };
  ::unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(threads({"--nproc", "2"}, {}), "1\n");
  EXPECT_EQ(threads({"--nproc", "1"}, {}), "none\n");
  EXPECT_EQ(threads({"--nproc", "2"}, {{"OMP_NUM_THREADS", "3"}}), "3\n");
  EXPECT_EQ(threads({"--nproc", "2", "--env", "OMP_NUM_THREADS=4"}, {}), "4\n");
}

}  // namespace
}  // namespace muster::e2e
