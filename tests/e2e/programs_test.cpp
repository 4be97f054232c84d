#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <muster/coordination_agent.hpp>
#include <thread>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace json = boost::json;

// Starts two workers on one host, whose ranks use ports of one range.
void two_workers(cluster& c, words const& flags = {}) {
  c.serve();
  for (auto const* index : {"0", "1"}) {
    words all{"--index", index, "--allow-programs"};
    all.insert(all.end(), flags.begin(), flags.end());
    c.worker(all);
  }
  ASSERT_TRUE(c.await_tasks(2));
}

std::string submit(cluster& c, std::string const& script, unsigned ranks,
                   std::string const& more = {}) {
  auto const body = R"({"name":"test","command":["sh","-c",)" +
                    json::serialize(json::value(script)) + R"(],"tasks":{"worker":)" +
                    std::to_string(ranks) + "}" + more + "}";
  return std::string(c.post("/api/v1/programs", body).at("id").as_string());
}

json::value await_state(cluster& c, std::string const& id, std::string_view state) {
  auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (;;) {
    auto p = c.get("/api/v1/programs/" + id);
    if (p.at("state").as_string() == state || std::chrono::steady_clock::now() > until) return p;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST(programs_e2e, ranks_on_two_workers_get_their_environment_and_succeed) {
  cluster c;
  two_workers(c);
  auto const id = submit(c, "echo rank $RANK of $WORLD_SIZE as $MUSTER_TASK_TYPE", 4);
  EXPECT_EQ(await_state(c, id, "SUCCEEDED").at("state").as_string(), "SUCCEEDED");
  auto const ranks = c.get("/api/v1/programs/" + id + "/ranks").at("ranks").as_array();
  ASSERT_EQ(ranks.size(), 4u);
  EXPECT_EQ(ranks[0].at("worker").as_string(), "worker:0");
  EXPECT_EQ(ranks[3].at("worker").as_string(), "worker:1");
  auto const log = c.get("/api/v1/programs/" + id + "/logs?rank=3");
  EXPECT_EQ(log.at("data").as_string(), "rank 3 of 4 as worker\n");
}

TEST(programs_e2e, last_line_of_each_rank_is_shown_and_top_lists_the_program) {
  cluster c;
  two_workers(c);
  auto const id =
      submit(c, "printf 'begin\\n\\033[32mrank %s trains\\033[0m\\n' $RANK; exec sleep 600", 2);
  EXPECT_EQ(await_state(c, id, "RUNNING").at("state").as_string(), "RUNNING");
  auto const line = [&](int rank) {
    auto const all = c.get("/api/v1/programs/" + id + "/ranks?last_lines=true");
    auto const* found = all.at("ranks").at(rank).as_object().if_contains("last_line");
    return found ? std::string(found->as_string()) : std::string();
  };
  EXPECT_TRUE(await([&] { return line(1) == "rank 1 trains"; })) << line(1);
  auto const shown = c.run({"programs", "show", "test", "--url", c.url()});
  EXPECT_NE(shown.out.find("LAST LINE"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("rank 1 trains"), std::string::npos) << shown.out;
  auto const top = c.run({"top", "--once", "--url", c.url()});
  EXPECT_NE(top.out.find("PROGRAM"), std::string::npos) << top.out;
  EXPECT_NE(top.out.find("RUNNING    2/2"), std::string::npos) << top.out;
}

TEST(programs_e2e, failed_rank_is_named_and_all_ranks_restart) {
  cluster c;
  two_workers(c);
  auto const id = submit(c,
                         "if [ $RANK = 2 ] && [ $MUSTER_RESTART_COUNT = 0 ]; then "
                         "echo the shard is empty >&2; exit 3; fi; "
                         "[ $MUSTER_RESTART_COUNT = 1 ] || sleep 60",
                         4, R"(,"max_restarts":1)");
  EXPECT_EQ(await_state(c, id, "SUCCEEDED").at("state").as_string(), "SUCCEEDED");
  auto const all = c.get("/api/v1/programs/" + id + "/attempts").at("attempts").as_array();
  ASSERT_EQ(all.size(), 2u);
  auto const& cause = all[0].at("cause").as_object();
  EXPECT_EQ(cause.at("rank").to_number<int>(), 2);
  EXPECT_EQ(cause.at("exit_status").to_number<int>(), 3);
  EXPECT_EQ(cause.at("stderr").as_array(), json::array{"the shard is empty"});
}

TEST(programs_e2e, cancel_ends_running_ranks) {
  cluster c;
  two_workers(c);
  auto const id = submit(c, "sleep 600", 4);
  EXPECT_EQ(await_state(c, id, "RUNNING").at("alive").to_number<int>(), 4);
  c.post("/api/v1/programs/" + id + "/cancel", {});
  EXPECT_EQ(await_state(c, id, "CANCELLED").at("alive").to_number<int>(), 0);
}

TEST(programs_e2e, killed_worker_uses_an_attempt_but_no_restart) {
  cluster c;
  c.serve();
  auto& first = c.worker({"--index", "0", "--allow-programs", "--program-lease", "2s"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const id = submit(c, "sleep 600", 2);
  await_state(c, id, "RUNNING");
  c.worker({"--index", "1", "--allow-programs", "--program-lease", "2s"});
  first.signal(SIGKILL);
  auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  auto p = c.get("/api/v1/programs/" + id);
  while ((p.at("attempt").to_number<int>() < 2 || p.at("state").as_string() != "RUNNING") &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    p = c.get("/api/v1/programs/" + id);
  }
  EXPECT_EQ(p.at("attempt").to_number<int>(), 2);
  EXPECT_EQ(p.at("restarts").to_number<int>(), 0);
  EXPECT_EQ(p.at("state").as_string(), "RUNNING");
}

// Collects in one file what each rank writes when it starts.
struct noted_starts {
  cluster& c;
  std::filesystem::path starts = c.file("starts"), go = c.file("go");

  // Returns the script of ranks, which run until the file `go` exists.
  std::string script() const {
    return "echo $RANK $MUSTER_ATTEMPT >> " + starts.string() + "; while [ ! -e " + go.string() +
           " ]; do sleep 0.02; done";
  }
  void let_go() const { std::ofstream(go) << "go"; }
  std::vector<std::string> lines() const {
    std::ifstream in(starts);
    std::vector<std::string> all;
    for (std::string line; std::getline(in, line);) all.push_back(line);
    std::sort(all.begin(), all.end());
    return all;
  }
};

TEST(programs_e2e, programs_continue_after_kill_9_of_the_server) {
  cluster c;
  auto const data = words{"--data-dir", c.file("data").string()};
  auto& server = c.serve(data);
  for (auto const* index : {"0", "1"}) c.worker({"--index", index, "--allow-programs"});
  ASSERT_TRUE(c.await_tasks(2));
  noted_starts const noted{c};
  auto const id = submit(c, noted.script(), 4);
  await_state(c, id, "RUNNING");
  server.kill_at_once();
  c.serve(data);
  ASSERT_TRUE(c.await_tasks(2));
  auto const back = c.get("/api/v1/programs/" + id);
  EXPECT_EQ(back.at("state").as_string(), "RUNNING");
  EXPECT_EQ(back.at("attempt").to_number<int>(), 1);
  noted.let_go();
  EXPECT_EQ(await_state(c, id, "SUCCEEDED").at("state").as_string(), "SUCCEEDED");
  EXPECT_EQ(noted.lines(), (std::vector<std::string>{"0 1", "1 1", "2 1", "3 1"}));
}

// Rank 1 stays a step behind, and reports that before and after the restart.
TEST(programs_e2e, hang_details_survive_kill_9_of_the_server) {
  cluster c;
  words const flags{"--data-dir", c.file("data").string()};
  auto& first = c.serve(flags);
  c.worker({"--allow-programs"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const id =
      submit(c, "for i in $(seq $((8 - RANK))); do echo step $i; sleep 0.05; done; exec sleep 600",
             2, R"x(,"step_pattern":"step (\\d+)","hang_after":"2s")x");
  auto const hang = [&]() -> json::object {
    auto const p = c.get("/api/v1/programs/" + id);
    auto const* found = p.as_object().if_contains("hang");
    return found && found->is_object() ? found->as_object() : json::object();
  };
  ASSERT_TRUE(await([&] { return !hang().empty(); }));
  auto const before = hang();
  EXPECT_EQ(before.at("evidence").as_string(), "STEP");
  EXPECT_EQ(before.at("rank"), 1);
  auto const ranks = [&] { return c.get("/api/v1/programs/" + id + "/ranks").at("ranks"); };
  auto const started = ranks().at(1).at("started_ms").to_number<std::int64_t>();
  first.kill_at_once();
  c.serve(flags);
  ASSERT_TRUE(await([&] { return !hang().empty(); }));
  EXPECT_EQ(hang(), before);
  ASSERT_TRUE(await([&] { return ranks().at(1).as_object().contains("step"); }));
  EXPECT_EQ(ranks().at(0).at("step"), 8);
  EXPECT_EQ(ranks().at(1).at("step"), 7);
  EXPECT_LE(ranks().at(1).at("started_ms").to_number<std::int64_t>(), started);
  std::this_thread::sleep_for(std::chrono::seconds(6));
  EXPECT_EQ(hang(), before);
}

TEST(programs_e2e, programs_that_ended_without_a_server_are_reported_afterwards) {
  cluster c;
  auto const data = words{"--data-dir", c.file("data").string()};
  auto& server = c.serve(data);
  c.worker({"--allow-programs"});
  ASSERT_TRUE(c.await_tasks(1));
  noted_starts const noted{c};
  auto const id = submit(c, noted.script() + "; echo $RANK over >> " + noted.starts.string(), 2);
  await_state(c, id, "RUNNING");
  server.kill_at_once();
  noted.let_go();
  ASSERT_TRUE(await([&] { return noted.lines().size() == 4; }));
  c.serve(data);
  EXPECT_EQ(await_state(c, id, "SUCCEEDED").at("state").as_string(), "SUCCEEDED");
  EXPECT_EQ(noted.lines(), (std::vector<std::string>{"0 1", "0 over", "1 1", "1 over"}));
}

TEST(programs_e2e, waiting_and_ended_programs_survive_a_server_restart) {
  cluster c;
  auto const data = words{"--data-dir", c.file("data").string()};
  auto& server = c.serve(data);
  auto& worker = c.worker({"--allow-programs"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const failed = submit(c, "echo the shard is empty >&2; exit 3", 1);
  await_state(c, failed, "FAILED");
  worker.signal(SIGTERM);
  worker.wait();
  auto const waiting = submit(c, "true", 1, R"(,"env":{"SECRET":"s"})");
  server.kill_at_once();
  c.serve(data);
  auto const known = c.get("/api/v1/programs/" + failed);
  EXPECT_EQ(known.at("state").as_string(), "FAILED");
  EXPECT_EQ(known.at("cause").at("stderr").as_array(), json::array{"the shard is empty"});
  EXPECT_EQ(
      c.get("/api/v1/programs/" + failed + "/ranks").at("ranks").at(0).at("state").as_string(),
      "FAILED");
  EXPECT_EQ(c.get("/api/v1/programs/" + waiting).at("state").as_string(), "PENDING");
  c.worker({"--allow-programs"});
  EXPECT_EQ(await_state(c, waiting, "SUCCEEDED").at("state").as_string(), "SUCCEEDED");
}

bool await_held_blobs(cluster& c, int n) {
  return await([&] { return c.get("/api/v1/blobs").at("held").to_number<int>() == n; });
}

TEST(programs_e2e, upload_is_kept_until_the_program_has_ended) {
  cluster c;
  c.serve();
  std::filesystem::create_directories(c.file("code/lib"));
  c.write("code/lib/data", "travelled\n");
  auto const launch = [&](words more) {
    words all{"launch", "--url", c.url(), "--upload", c.file("code").string(), "--detach"};
    all.insert(all.end(), more.begin(), more.end());
    return c.run(all);
  };
  auto const made = launch({"--tasks", "2", "--max-restarts", "1", "--", "sh", "-c",
                            "cat lib/data; [ $MUSTER_RESTART_COUNT = 1 ]"});
  ASSERT_EQ(made.status, 0) << made.err;
  auto const id = made.out.substr(0, made.out.size() - 1);
  EXPECT_TRUE(await_held_blobs(c, 1)) << "no worker has fetched it yet";
  c.worker({"--index", "0", "--allow-programs"});
  EXPECT_EQ(await_state(c, id, "SUCCEEDED").at("state").as_string(), "SUCCEEDED");
  EXPECT_EQ(c.get("/api/v1/programs/" + id + "/logs?rank=1").at("data").as_string(), "travelled\n");
  EXPECT_TRUE(await_held_blobs(c, 0));
}

// Each rank runs the coordination client of the examples. It sets keys, waits at a barrier and adds
// 100 to a counter, which would show state of an earlier attempt.
TEST(programs_e2e, each_attempt_has_its_own_cluster_generation_on_loopback) {
  cluster c;
  two_workers(c);
  auto const id = submit(c,
                         "[ ${MUSTER_COORDINATOR%:*} = 127.0.0.1 ] || exit 7; " MUSTER_EXAMPLES
                         "agent $RANK $MUSTER_COORDINATOR || exit; "
                         "[ $RANK != 1 ] || [ $MUSTER_ATTEMPT = 2 ] || exit 3; "
                         "[ $MUSTER_ATTEMPT = 2 ] || sleep 60",
                         4, R"(,"max_restarts":1)");
  auto const p = await_state(c, id, "SUCCEEDED");
  ASSERT_EQ(p.at("state").as_string(), "SUCCEEDED") << json::serialize(p);
  EXPECT_EQ(p.at("attempt").to_number<int>(), 2);
  ASSERT_EQ(p.at("coordination_cluster").as_string(), id);
  auto const own = c.get("/api/v1/clusters/" + id);
  EXPECT_EQ(own.at("generation").at("number").to_number<int>(), 2);
  EXPECT_EQ(own.at("generation").at("state").as_string(), "FINISHED");
  EXPECT_EQ(own.at("jobs").at("worker").to_number<int>(), 4);
  std::string said;
  for (auto const* rank : {"0", "1", "2", "3"})
    said += c.get("/api/v1/programs/" + id + "/logs?rank=" + rank).at("data").as_string();
  EXPECT_NE(said.find("400 steps so far"), std::string::npos) << said;
  EXPECT_EQ(said.find("500 steps so far"), std::string::npos)
      << "of the previous attempt: " << said;
}

// The test acts as the rank's coordination client: any process that can dial the port on 127.0.0.1
// is accepted.
TEST(programs_e2e, cause_contains_the_last_coordination_error) {
  cluster c;
  c.serve();
  c.worker({"--index", "0", "--allow-programs"});
  ASSERT_TRUE(c.await_tasks(1));
  auto const port = c.file("port"), go = c.file("go");
  auto const id = submit(c,
                         "echo $MUSTER_COORDINATOR > " + port.string() + ".new; mv " +
                             port.string() + ".new " + port.string() + "; while [ ! -e " +
                             go.string() + " ]; do sleep 0.02; done; exit 6",
                         1);
  ASSERT_TRUE(await([&] { return std::filesystem::exists(port); }));
  coordination_options o;
  std::ifstream(port) >> o.server;
  coordination_agent agent(o);
  agent.connect();
  agent.report_error(coordination_code::failed_precondition, "the loss is NaN");
  std::ofstream(go) << "go";
  auto const p = await_state(c, id, "FAILED");
  auto const& cause = p.at("cause").as_object();
  EXPECT_EQ(cause.at("exit_status").to_number<int>(), 6);
  ASSERT_TRUE(cause.contains("coordination")) << json::serialize(p);
  auto const& told = cause.at("coordination").as_object();
  EXPECT_EQ(told.at("code").as_string(), "FAILED_PRECONDITION");
  EXPECT_EQ(told.at("task").as_string(), "worker:0");
  EXPECT_NE(told.at("message").as_string().find("the loss is NaN"), json::string::npos);
  EXPECT_NE(cause.at("text").as_string().find("the coordination service had reported: "),
            json::string::npos);
}

// The test kills ranks by process id.
TEST(programs_e2e, preloaded_ranks_are_forked_across_attempts_and_restarts) {
  if (std::system("python3 -c ''") != 0) GTEST_SKIP() << "needs Python";
  cluster c;
  auto const data = words{"--data-dir", c.file("data").string()};
  auto& server = c.serve(data);
  for (auto const* index : {"0", "1"}) c.worker({"--index", index, "--allow-programs"});
  ASSERT_TRUE(c.await_tasks(2));
  std::filesystem::create_directories(c.file("modules"));
  c.write("modules/heavy.py", "import os\nwhere = os.getpid()\n");
  c.write("train.py",
          "import heavy, os, time\nprint(heavy.where, flush=True)\n"
          "while not os.path.exists('" +
              c.file("go").string() + "'): time.sleep(0.02)\n");
  auto const made =
      c.run({"launch", "--url", c.url(), "--tasks", "4", "--max-restarts", "1", "--preload",
             "heavy,json", "--env", "PYTHONPATH=" + c.file("modules").string(), "--detach", "--",
             "python3", c.file("train.py").string()});
  ASSERT_EQ(made.status, 0) << made.err;
  auto const id = made.out.substr(0, made.out.size() - 1);
  auto const path = "/api/v1/programs/" + id;
  auto const servers = [&] {
    std::vector<std::string> all;
    for (auto const* rank : {"0", "1", "2", "3"})
      all.emplace_back(c.get(path + "/logs?rank=" + rank).at("data").as_string());
    return all;
  };
  auto const complete = [&] {
    auto const all = servers();
    return std::none_of(all.begin(), all.end(), [](auto const& log) { return log.empty(); });
  };
  await_state(c, id, "RUNNING");
  ASSERT_TRUE(await(complete));
  auto const first = servers();
  EXPECT_EQ(first[0], first[1]);
  EXPECT_NE(first[0], first[3]) << "of another worker";
  server.kill_at_once();
  c.serve(data);
  ASSERT_TRUE(c.await_tasks(2));
  EXPECT_EQ(c.get(path).at("preload").as_array(), (json::array{"heavy", "json"}));
  ::kill(c.get(path + "/ranks").at("ranks").at(2).at("pid").to_number<pid_t>(), SIGKILL);
  EXPECT_TRUE(await([&] { return c.get(path).at("attempt").to_number<int>() == 2; }));
  EXPECT_EQ(await_state(c, id, "RUNNING").at("state").as_string(), "RUNNING");
  ASSERT_TRUE(await(complete));
  EXPECT_EQ(servers(), first) << "the same fork servers";
  auto const before = c.get(path + "/attempts").at("attempts").at(0);
  EXPECT_EQ(before.at("cause").at("signal").to_number<int>(), SIGKILL);
  EXPECT_EQ(before.at("cause").at("rank").to_number<int>(), 2);
  std::ofstream(c.file("go")) << "go";
  EXPECT_EQ(await_state(c, id, "SUCCEEDED").at("state").as_string(), "SUCCEEDED");
}

TEST(programs_e2e, failed_preload_is_reported_and_the_program_runs) {
  cluster c;
  two_workers(c);
  auto const id = submit(c, "exit 0", 2, R"(,"preload":["numpy"])");
  EXPECT_EQ(await_state(c, id, "SUCCEEDED").at("state").as_string(), "SUCCEEDED");
  EXPECT_EQ(c.get("/api/v1/programs/" + id + "/ranks").at("ranks").at(1).at("not_preloaded"),
            "the command is not a Python program");
  auto const shown = c.run({"programs", "show", id, "--url", c.url()});
  EXPECT_NE(
      shown.out.find(
          "preload  2 of 2 ranks started without preload: the command is not a Python program"),
      std::string::npos)
      << shown.out;
}

}  // namespace
}  // namespace muster::e2e
