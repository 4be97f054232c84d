#include <gtest/gtest.h>

#include <csignal>

#include "tests/e2e/cli/run_words.hpp"

namespace muster::e2e {
namespace {

struct programs : testing::Test {
  programs() { c.serve(); }

  process& worker(words flags = {}) {
    flags.push_back("--allow-programs");
    return c.worker(flags);
  }
  /// Returns the command line `launch FLAGS -- /bin/sh -c SCRIPT`.
  words launch(words flags, std::string const& script) const {
    flags.insert(flags.begin(), "launch");
    flags.insert(flags.end(), {"--url", c.url(), "--", "/bin/sh", "-c",
                               "P=" + c.file("").string() + "; " + script});
    return flags;
  }
  words verb(words flags) const {
    flags.insert(flags.begin(), "programs");
    flags.insert(flags.end(), {"--url", c.url()});
    return flags;
  }
  pid_t pid_in(std::string const& name) {
    EXPECT_TRUE(await([&] { return number_in(c.file(name)) != 0; })) << name;
    return number_in(c.file(name));
  }
  /// Waits until the server knows that all ranks of the only program have started. A rank can run
  /// before its launcher reports it.
  void await_running() {
    EXPECT_TRUE(await(
        [&] { return c.get("/api/v1/programs").at("programs").at(0).at("state") == "RUNNING"; }));
  }
  static bool gone(pid_t pid) {
    return await([&] { return !alive(pid); });
  }

  cluster c;
};

TEST_F(programs, run_on_workers_and_print_lines_with_a_rank_prefix) {
  worker();
  auto const r = c.run(launch({"--tasks", "3", "--name", "hello"},
                              "echo $RANK of $WORLD_SIZE in $MUSTER_PROGRAM $MUSTER_ATTEMPT; "
                              "[ -z \"$MUSTER_TOKEN\" ]"));
  EXPECT_EQ(r.status, 0) << r.err;
  for (auto const* rank : {"0", "1", "2"})
    EXPECT_NE(r.out.find(std::string("rank ") + rank + " | " + rank + " of 3 in hello 1\n"),
              std::string::npos)
        << r.out << r.err;
}

TEST_F(programs, exit_with_the_status_of_the_first_failed_rank) {
  worker();
  auto const r = c.run(
      launch({"--tasks", "3"}, "[ $RANK != 1 ] || { echo oops >&2; exit 3; }; exec sleep 1000"));
  EXPECT_EQ(r.status, 3) << r.err;
  EXPECT_NE(r.err.find("rank 1 on worker:0 ("), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("oops"), std::string::npos) << r.err;
}

TEST_F(programs, restart_after_a_failure) {
  worker();
  auto const r = c.run(launch({"--tasks", "2", "--max-restarts", "1"},
                              "[ $MUSTER_ATTEMPT = 2 ] || { echo first $RANK >&2; exit 4; }; "
                              "echo again $MUSTER_RESTART_COUNT"));
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.err.find("status 4"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("\n    first "), std::string::npos)
      << "the reason for the restart: " << r.err;
  EXPECT_NE(r.out.find("rank 1 | again 1"), std::string::npos) << r.out << r.err;
}

TEST_F(programs, failed_start_has_the_exit_status_of_a_shell) {
  worker();
  auto const status_of = [this](std::string const& command) {
    return c.run({"launch", "--url", c.url(), "--tasks", "1", "--", command}).status;
  };
  EXPECT_EQ(status_of("no-such-command-here"), 127);
  EXPECT_EQ(status_of("/etc/passwd"), 126);
}

TEST_F(programs, give_each_rank_its_own_copy_of_the_code) {
  worker();
  std::filesystem::create_directories(c.file("code/sub"));
  c.write("code/.gitignore", "*.log\n");
  c.write("code/file", "from afar\n");
  c.write("code/sub/more", "and more\n");
  c.write("code/left.log", "");
  words const flags{"--tasks", "3", "--upload", c.file("code").string()};
  auto const script = "cat file sub/more; ls; echo spoilt > file";
  for (int time : {1, 2}) {
    auto const r = c.run(launch(flags, script));
    EXPECT_EQ(r.status, 0) << r.err;
    for (auto const* rank : {"0", "1", "2"}) {
      auto const begin = std::string("rank ") + rank + " | ";
      EXPECT_NE(r.out.find(begin + "from afar\n"), std::string::npos) << time << r.out;
      EXPECT_NE(r.out.find(begin + "and more\n"), std::string::npos) << r.out;
      EXPECT_EQ(r.out.find("left.log"), std::string::npos) << r.out;
    }
  }
  EXPECT_EQ(c.get("/api/v1/blobs").at("blobs").to_number<int>(), 1)
      << "the same code is uploaded once";
}

TEST_F(programs, invalid_upload_is_refused_before_the_launch) {
  std::filesystem::create_directories(c.file("code"));
  std::filesystem::create_symlink("/etc/passwd", c.file("code/link"));
  auto const r = c.run(launch({"--tasks", "1", "--upload", c.file("code").string()}, "true"));
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("'link' is a symbolic link to '/etc/passwd'"), std::string::npos) << r.err;
  EXPECT_EQ(c.run(launch({"--tasks", "1", "--upload", "/not/there"}, "true")).status, 2);
}

TEST_F(programs, other_user_can_read_and_write_the_uploaded_code) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can run ranks as another user";
  worker({"--program-user", "nobody"});
  std::filesystem::create_directories(c.file("code"));
  c.write("code/file", "readable\n");
  auto const r =
      c.run({"launch", "--url", c.url(), "--tasks", "2", "--upload", c.file("code").string(), "--",
             "sh", "-c", "cat file && echo x >> file && : > new && id -un"});
  EXPECT_EQ(r.status, 0) << r.err << r.out;
  EXPECT_NE(r.out.find("rank 1 | readable\nrank 1 | nobody\n"), std::string::npos) << r.out;
}

TEST_F(programs, ctrl_c_stops_the_program) {
  worker();
  auto& l = c.spawn(launch({"--tasks", "1"},
                           "trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.05; done"));
  ASSERT_TRUE(said(l, "rank 0 | up")) << l.errors();
  l.signal(SIGINT);
  EXPECT_EQ(l.wait(), 0) << l.errors();
  EXPECT_NE(l.output().find("rank 0 | told"), std::string::npos) << l.output() << l.errors();
}

TEST_F(programs, are_listed_shown_and_cancelled_by_name) {
  worker();
  auto const id = first_line(
      c.run(launch({"--tasks", "2", "--name", "long", "--detach"}, "exec sleep 1000")).out);
  ASSERT_TRUE(
      await([&] { return c.run(verb({"list"})).out.find("RUNNING") != std::string::npos; }));
  auto const list = c.run(verb({})).out;
  EXPECT_NE(list.find(id), std::string::npos) << list;
  EXPECT_NE(list.find("2 of 2"), std::string::npos) << list;
  auto const shown = c.run(verb({"show", "long"})).out;
  EXPECT_NE(shown.find("\n1     RUNNING  worker:0"), std::string::npos) << shown;
  EXPECT_EQ(c.run(verb({"cancel", "long"})).status, 0);
  EXPECT_TRUE(await([&] {
    return c.run(verb({"show", id})).out.find("CANCELLED") != std::string::npos;
  }));
  EXPECT_EQ(c.run(verb({"show", "another"})).status, 1);
}

TEST_F(programs, list_stacks_with_the_outlier_first) {
  worker();
  c.run(launch({"--tasks", "3", "--name", "long", "--detach"},
               "[ $RANK != 1 ] || exec sleep 1000; exec python3 -c '\nimport time\n"
               "def waits_here():\n    time.sleep(1000)\nwaits_here()'"));
  std::string said;
  auto const both = [&] {
    said = c.run(verb({"stacks", "long"})).out;
    return said.starts_with("1 of 3 ranks: rank 1 on ") &&
           said.find("2 of 3 ranks: ranks 0,2 on ") != std::string::npos &&
           said.find("line 4 in waits_here") != std::string::npos;
  };
  EXPECT_TRUE(await(both)) << said;
  EXPECT_NE(said.find(" in clock_nanosleep"), std::string::npos) << said;
  EXPECT_NE(c.run(verb({"stacks", "long", "--output", "json"})).out.find("\"NATIVE\""),
            std::string::npos);
  c.run(verb({"cancel", "long"}));
  EXPECT_TRUE(await([&] { return c.run(verb({"stacks", "long"})).out == "no rank is alive\n"; }));
  auto const wrong = c.run({"worker", "--allow-programs", "--stack-signal", "TERM"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_NE(wrong.err.find("--stack-signal TERM: write SIGRTMIN+N"), std::string::npos)
      << wrong.err;
}

// Processes in a session that a rank created are also killed.
constexpr char leaves_a_session[] =
    "setsid sh -c 'echo $$ > $0/session; exec sleep 1000' $P & echo $$ > $P/rank; "
    "trap '' TERM; while :; do sleep 0.1; done";

TEST_F(programs, no_process_survives_a_killed_worker) {
  auto& w = worker();
  c.run(launch({"--tasks", "1", "--detach"}, leaves_a_session));
  auto const rank = pid_in("rank"), session = pid_in("session");
  w.kill_at_once();
  EXPECT_TRUE(gone(rank));
  EXPECT_TRUE(gone(session));
}

TEST_F(programs, no_process_survives_a_killed_launcher) {
  auto& w = worker();
  auto& l = c.spawn(launch({"--tasks", "1"}, leaves_a_session));
  auto const rank = pid_in("rank"), session = pid_in("session");
  await_running();
  ::kill(first_child_of(first_child_of(w.pid())), SIGKILL);  // the supervisor's child
  EXPECT_TRUE(gone(rank));
  EXPECT_TRUE(gone(session));
  EXPECT_EQ(l.wait(), 128 + SIGKILL) << l.errors();
  EXPECT_TRUE(w.running());
}

TEST_F(programs, move_to_another_worker_after_the_lease_expires) {
  auto& w = worker({"--program-lease", "1s", "--index", "0"});
  auto& l = c.spawn(launch({"--tasks", "1", "--max-restarts", "1"},
                           "[ $MUSTER_ATTEMPT = 1 ] || { echo again; exit 0; }; "
                           "echo $$ > $P/rank; exec sleep 1000"));
  auto const rank = pid_in("rank");
  worker({"--index", "1"});
  ASSERT_TRUE(c.await_tasks(2));
  w.signal(SIGSTOP);  // the worker hangs, so its launcher's lease expires
  EXPECT_TRUE(gone(rank));
  EXPECT_EQ(l.wait(), 0) << l.errors();
  EXPECT_NE(l.output().find("again"), std::string::npos) << l.errors();
  w.signal(SIGCONT);
}

TEST_F(programs, task_types_have_their_own_resources) {
  worker({"--gpus", "4", "--label", "zone=a"});
  auto const r =
      c.run(launch({"--tasks", "worker=2,ps=1-3", "--resource", "gpu=1", "--resource", "ps:gpu=2",
                    "--label", "zone=a", "--label", "ps:zone=a", "--ends-with", "worker,ps"},
                   "echo at $CUDA_VISIBLE_DEVICES"));
  EXPECT_EQ(r.status, 0) << r.err;
  for (auto const* line : {"rank 0 | at 0\n", "rank 1 | at 1\n", "rank 2 (ps:0) | at 2,3\n"})
    EXPECT_NE(r.out.find(line), std::string::npos) << r.out << r.err;
  EXPECT_EQ(r.out.find("ps:1"), std::string::npos) << "no more of the range have room" << r.out;
}

TEST_F(programs, task_types_have_their_own_commands) {
  worker();
  auto const r = c.run(
      launch({"--tasks", "worker=1,ps=1", "--command", "ps=echo \"one  word\" at $MUSTER_PROGRAM",
              "--ends-with", "worker,ps", "--name", "p"},
             "echo all others"));
  EXPECT_EQ(r.status, 0) << r.err;
  for (auto const* line : {"rank 0 | all others\n", "rank 1 (ps:0) | one  word at p\n"})
    EXPECT_NE(r.out.find(line), std::string::npos) << r.out << r.err;
  auto const alone = c.run({"launch", "--url", c.url(), "--tasks", "ps=1", "--ends-with", "ps",
                            "--command", "ps=exit 3"});
  EXPECT_EQ(alone.status, 3) << "no other command is needed" << alone.err;
  auto const none = c.run(launch({"--tasks", "1", "--command", "ps=true"}, "exit 0"));
  EXPECT_EQ(none.status, 2);
  EXPECT_NE(none.err.find("--command ps: --tasks has no such type"), std::string::npos) << none.err;
}

TEST_F(programs, flags_become_fields_of_the_program) {
  auto const r =
      c.run(launch({"--tasks", "2", "--name", "all", "--priority", "-3", "--deadline", "90s",
                    "--restart-grace", "250ms", "--ends-with", "worker:0", "--metadata", "team=x",
                    "--per-worker", "1", "--weight", "3", "--detach"},
                   "exit 0"));
  ASSERT_EQ(r.status, 0) << r.err;
  auto const p = c.get("/api/v1/programs/" + first_line(r.out));
  EXPECT_EQ(p.at("priority"), -3);
  EXPECT_EQ(p.at("weight"), 3);
  EXPECT_EQ(p.at("deadline_ms"), 90'000);
  EXPECT_EQ(p.at("restart_grace_ms"), 250);
  EXPECT_EQ(p.at("ends_with").at(0), "worker:0");
  EXPECT_EQ(p.at("metadata").at("team"), "x");
  EXPECT_EQ(p.at("per_worker"), 1);
}

TEST_F(programs, invalid_flags_are_refused) {
  for (auto const* tasks :
       {"0", "4097", "x", "worker=", "=3", "worker=1,worker=2", "5-2", "1,2", ""}) {
    auto const r = c.run(launch({"--tasks", tasks}, "exit 0"));
    EXPECT_EQ(r.status, 2) << tasks;
    EXPECT_NE(r.err.find("write N, MIN-MAX, or TYPE=N"), std::string::npos) << r.err;
  }
  auto const r = c.run(launch({"--tasks", "1", "--resource", "ps:gpu=1"}, "exit 0"));
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("--tasks has no type 'ps'"), std::string::npos) << r.err;
  auto const flag = c.run({"launch", "--url", c.url(), "--tasks", "2", "--bogus", "--", "true"});
  EXPECT_EQ(flag.status, 2);
  EXPECT_NE(flag.err.find("unknown flag --bogus"), std::string::npos) << flag.err;
}

TEST_F(programs, task_type_can_override_a_common_resource_with_zero) {
  auto const r = c.run(launch(
      {"--tasks", "worker=1,ps=1", "--resource", "gpu=1", "--resource", "ps:gpu=0", "--detach"},
      "exit 0"));
  ASSERT_EQ(r.status, 0) << r.err;
  auto const tasks = c.get("/api/v1/programs/" + first_line(r.out)).at("tasks");
  EXPECT_EQ(tasks.at("worker").at("resources").at("gpu"), 1);
  EXPECT_FALSE(tasks.at("ps").as_object().contains("resources"));
}

TEST_F(programs, worker_flags_for_programs_require_allow_programs) {
  for (auto const* flag : {"--program-ports", "--program-user", "--program-lease",
                           "--program-address", "--program-dir"}) {
    auto const r = c.run({"worker", "--server", c.grpc(), flag, "2s"});
    EXPECT_EQ(r.status, 2) << flag;
    EXPECT_NE(r.err.find(std::string(flag) + " requires --allow-programs"), std::string::npos)
        << r.err;
  }
  auto const address =
      c.run({"worker", "--server", c.grpc(), "--allow-programs", "--program-address", "a b"});
  EXPECT_EQ(address.status, 2);
  EXPECT_NE(address.err.find("--program-address 'a b'"), std::string::npos) << address.err;
  auto const r = c.run({"worker", "--gpus", "2", "--resource", "gpu=1"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("--gpus and --resource gpu=N"), std::string::npos) << r.err;
}

// Each program starts before the worker, and outlasts the worker's idle limit.
TEST_F(programs, running_program_keeps_an_idle_worker) {
  auto& l = c.spawn(launch({"--tasks", "1"}, "sleep 3"));
  ASSERT_TRUE(l.says("PENDING"));
  auto& w = worker({"--idle-timeout", "1500ms"});
  EXPECT_EQ(l.wait(), 0) << l.errors();
  EXPECT_EQ(w.wait(), 0) << w.errors();
  EXPECT_NE(w.errors().find("no work for 1500 ms"), std::string::npos) << w.errors();
  EXPECT_NE(w.errors().find("left " + c.grpc()), std::string::npos) << w.errors();
}

TEST_F(programs, running_closure_keeps_an_idle_worker) {
  auto const id =
      first_line(c.run({"submit", "muster.sleep", "3s", "--no-wait", "--url", c.url()}).out);
  auto& w = worker({"--idle-timeout", "1500ms"});
  EXPECT_EQ(w.wait(), 0) << w.errors();
  EXPECT_EQ(c.get("/api/v1/jobs/" + id).at("state"), "SUCCEEDED");
}

// The ranks end when their lease expires, although no server can receive the report.
TEST(programs_without_a_server, do_not_keep_an_idle_worker) {
  cluster c;
  auto& server = c.serve();
  auto& w = c.worker({"--allow-programs", "--program-lease", "1s", "--idle-timeout", "1s"});
  ASSERT_TRUE(c.await_tasks(1));
  auto& l = c.spawn({"launch", "--url", c.url(), "--tasks", "1", "--", "sleep", "100"});
  ASSERT_TRUE(l.says("RUNNING"));
  server.kill_at_once();
  l.signal(SIGKILL);
  EXPECT_EQ(w.wait(), 0) << w.errors();
}

TEST_F(programs, idle_worker_exits_without_a_server) {
  auto& w = c.spawn({"worker", "--server", "127.0.0.1:1", "--idle-timeout", "200ms"});
  EXPECT_EQ(w.wait(), 0) << w.errors();
}

}  // namespace
}  // namespace muster::e2e
