#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

constexpr char script[] = R"(import os, sys
print(sys.argv[1:], os.environ['RANK'], os.environ['WORLD_SIZE'], flush=True)
)";

TEST(run_as_torchrun, script_needs_no_dashes_and_no_interpreter) {
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
  EXPECT_EQ(r.status, 2) << "it is ambiguous which command -- belongs to";
  EXPECT_NE(r.err.find("'sh' is before --; write the whole command after --"), std::string::npos)
      << r.err;
  auto const plain = c.run({"run", "--no-prefix", "sh", "-c", "echo $RANK; exit 3"});
  EXPECT_EQ(plain.status, 3) << plain.err;
  EXPECT_EQ(plain.out, "0\n");
}

TEST(run_as_torchrun, module_is_run_with_m) {
  cluster c;
  auto const r = c.run({"run", "--no-prefix", "-m", "json.tool", "--help"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("json.tool"), std::string::npos) << r.out;
}

TEST(run_as_torchrun, nproc_can_be_the_number_of_cpus_or_gpus) {
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

TEST(run_as_torchrun, rejects_flags_with_another_meaning_and_names_the_replacement) {
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
        wrong{{"--monitor_interval", "1"}, "remove it"},
        wrong{{"--nproc", "many"}, "a number, auto, gpu or cpu"},
        wrong{{"--nproc", "0"}, "at least one"}, wrong{{"--nproc", "257"}, "at most 256"},
        wrong{{"--master-port", "70000"}, "65535"},
        wrong{{"--cluster-file", "x", "--nnodes", "2"}, "remove it"},
        wrong{{"--nprocs", "2"}, "did you mean --nproc?"}}) {
    auto all = w.flags;
    all.insert(all.begin(), "run");
    all.push_back("true");
    auto const r = c.run(all);
    EXPECT_EQ(r.status, 2) << w.flags.front() << r.err;
    EXPECT_NE(r.err.find(w.said), std::string::npos) << w.flags.front() << ": " << r.err;
  }
}

TEST(run_as_torchrun, master_port_conflicts_with_a_cluster_that_has_ports) {
  cluster c;
  auto const file = c.write("c.json", R"({"worker": ["127.0.0.1:1", "127.0.0.1:2"]})").string();
  words const flags{"--cluster-file", file, "--master-port", "4711", "--no-prefix"};
  auto own = flags;
  own.insert(own.end(), {"--task", "worker:0"});
  auto const refused = c.run(sh(own, "true"));
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("--master-port: the cluster already defines the master address"),
            std::string::npos)
      << refused.err;
  auto const here = c.run(sh(flags, "[ $RANK = 0 ] && echo $MASTER_PORT || :"));
  EXPECT_EQ(here.out, "4711\n") << here.err << "all of them are on this machine";
}

TEST(run_as_torchrun, sets_the_environment_of_torchrun) {
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

TEST(run_as_torchrun, sets_one_thread_per_task_if_tasks_share_a_host) {
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

struct launch_as_torchrun : testing::Test {
  launch_as_torchrun() {
    c.serve();
    c.worker({"--allow-programs", "--resource", "gpu=2"});
    std::filesystem::create_directories(c.file("code"));
    c.write("code/train.py", script);
  }
  finished launch(words const& flags) {
    words all{"launch", "--url", c.url()};
    all.insert(all.end(), flags.begin(), flags.end());
    return c.run(all);
  }

  cluster c;
};

TEST_F(launch_as_torchrun, accepts_the_arguments_of_run) {
  auto const upload = c.file("code").string();
  for (auto const& flags : {words{"--nproc-per-node", "2"}, words{"--nproc_per_node=2"},
                            words{"-n", "2"}, words{"--nproc", "2", "--nnodes", "1", "--gpus", "1"},
                            words{"--tasks", "2", "--standalone"},
                            words{"-n2", "--rdzv-backend=c10d", "--rdzv_endpoint=localhost:0",
                                  "--rdzv-id=7", "--max_restarts=1", "--node_rank", "0"}}) {
    auto all = flags;
    all.insert(all.end(), {"--upload", upload, "train.py", "--epochs", "3"});
    auto const r = launch(all);
    EXPECT_EQ(r.status, 0) << flags.front() << r.err;
    for (auto const* rank : {"0", "1"})
      EXPECT_NE(r.out.find(std::string("['--epochs', '3'] ") + rank + " 2"), std::string::npos)
          << flags.front() << r.out;
  }
  auto const one = launch({"--upload", upload, "-m", "train"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_NE(one.out.find("[] 0 1"), std::string::npos) << one.out << "one task by default";
}

TEST_F(launch_as_torchrun, requests_hosts_and_gpus) {
  auto const asked = [&](words flags) {
    flags.insert(flags.end(), {"--detach", "--", "true"});
    auto const id = launch(flags).out;
    return c.get("/api/v1/programs/" + id.substr(0, id.size() - 1));
  };
  auto const hosts = asked({"--nnodes", "3", "--nproc-per-node", "2", "--gpus", "1"});
  EXPECT_EQ(hosts.at("per_worker"), 2) << hosts;
  EXPECT_EQ(hosts.at("tasks").at("worker").at("max"), 6) << hosts;
  EXPECT_EQ(hosts.at("tasks").at("worker").at("resources").at("gpu"), 1) << hosts;
}

TEST_F(launch_as_torchrun, ignores_settings_that_the_command_line_excludes) {
  auto const ranks = [&](words flags, environment const& env) {
    flags.insert(flags.end(), {"--detach", "--", "true"});
    flags.insert(flags.begin(), {"launch", "--url", c.url()});
    auto const r = c.run(flags, {}, env);
    EXPECT_EQ(r.status, 0) << r.err;
    auto const program = c.get("/api/v1/programs/" + r.out.substr(0, r.out.find('\n')));
    return program.at("tasks").at("worker");
  };
  auto const count = [&](words const& flags, environment const& env) {
    return ranks(flags, env).at("max");
  };
  auto const tasks = c.write("tasks.toml", "[launch]\ntasks = 4\n").string();
  EXPECT_EQ(count({"--config", tasks}, {}), 4);
  EXPECT_EQ(count({"--config", tasks, "--nproc", "2"}, {}), 2);
  EXPECT_EQ(count({"--config", tasks, "--nnodes", "3"}, {}), 3);
  EXPECT_EQ(count({"--config", tasks}, {{"MUSTER_NPROC", "2"}}), 2) << "the environment is next";
  EXPECT_EQ(count({"--tasks", "3"}, {{"MUSTER_NPROC", "2"}}), 3);
  auto const gpus = c.write("gpus.toml", "[launch]\ngpus = 1\n").string();
  EXPECT_EQ(ranks({"--config", gpus}, {}).at("resources").at("gpu"), 1);
  EXPECT_EQ(ranks({"--config", gpus, "--resource", "gpu=2"}, {}).at("resources").at("gpu"), 2);
  auto const both = c.write("both.toml", "[launch]\ntasks = 4\nnproc = 2\n").string();
  EXPECT_EQ(launch({"--config", both, "--detach", "true"}).status, 2) << "one source has both";
}

TEST_F(launch_as_torchrun, names_the_command_to_type) {
  auto const url = c.url();
  struct wrong {
    words flags;
    std::string said;
  };
  for (auto const& w :
       {wrong{{"--nproc", "2", "train.py", "a b"},
              "the workers do not have train.py; to upload the current directory, which contains "
              "it: muster "
              "launch --upload . --url " +
                  url + " --nproc 2 train.py 'a b'"},
        wrong{{"--cluster-from", "slurm", "true"},
              "--cluster-from: only 'muster run' accepts it, and runs the command on this machine: "
              "muster run --url " +
                  url + " --cluster-from slurm true"},
        wrong{{"--output-dir", "x", "true"}, "'muster programs logs PROGRAM'"},
        wrong{{"--log_dir", "x", "true"}, "'muster programs logs PROGRAM'"},
        wrong{{"--num-gpus", "1", "true"}, "use --gpus N"},
        wrong{{"--nproc", "gpu", "true"}, "--nproc N --gpus 1"},
        wrong{{"--nproc", "2", "--tasks", "2", "true"}, "--tasks excludes --nproc"},
        wrong{{"--nnodes", "4:2", "true"}, "write N or MIN:MAX"},
        wrong{{"--node-rank", "1", "true"}, "run the command once"},
        wrong{{"--master-addr", "far", "true"}, "the server chooses the hosts"}}) {
    auto const r = launch(w.flags);
    EXPECT_EQ(r.status, 2) << w.flags.front() << r.err;
    EXPECT_NE(r.err.find(w.said), std::string::npos) << w.flags.front() << ": " << r.err;
  }
  auto const r = c.run({"run", "--spares", "1", "-n", "2", "train.py"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("--spares: only 'muster launch' accepts it, and runs the command on the "
                       "workers of a server: muster launch --spares 1 -n 2 train.py"),
            std::string::npos)
      << r.err;
  EXPECT_NE(c.run({"run", "--gpus", "1", "true"}).err.find("use --nproc gpu"), std::string::npos);
}

}  // namespace
}  // namespace muster::e2e
