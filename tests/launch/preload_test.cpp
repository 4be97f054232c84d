#include "tests/launch/rank_launcher_fixture.hpp"

namespace muster::launch {
namespace {

constexpr auto python = "/usr/bin/python3";

// Prints how the program was started, as far as a program can see it.
constexpr auto probe = R"(
import json, os, signal, sys
print(json.dumps({
    "argv": sys.argv, "path": sys.path, "name": __name__, "file": globals().get("__file__"),
    "flags": str(sys.flags), "warnings": sys.warnoptions, "cwd": os.getcwd(),
    "environment": dict(os.environ), "mask": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    "handlers": [str(signal.getsignal(n)) for n in range(1, 32)],
    "fds": sorted((n, os.readlink("/proc/self/fd/" + n).split(":")[0])
                  for n in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + n)),
    "group": os.getpgid(0) == os.getpid(), "main": sys.modules["__main__"].__dict__ is globals(),
    "globals": sorted(globals()), "words": open("/proc/self/cmdline").read().rstrip("\0"),
    "input": sys.stdin.read(), "buffered": [sys.stdout.line_buffering, sys.stdout.encoding],
    "parent": os.getppid()}, sort_keys=True))
)";

struct preloads : rank_launchers {
  preloads() {
    if (::access(python, X_OK) != 0) return;
    std::filesystem::create_directories(file("modules"));
    write("modules/heavy.py", "import os\nwhere = os.getpid()\n");
    write("modules/threads.py",
          "import threading, time\nt = threading.Thread(target=time.sleep, args=[1000], "
          "daemon=True)\nt.start()\n");
    write("modules/broken.py", "raise ValueError('of no use')\n");
    write("modules/leaves.py", "import os\nos._exit(3)\n");
    write("modules/leaves_a_fork.py",
          "import os, time\nif os.fork() == 0:\n    time.sleep(1000)\nos._exit(3)\n");
  }
  void SetUp() override {
    if (::access(python, X_OK) != 0) GTEST_SKIP() << "needs Python";
  }
  void write(std::string const& name, std::string const& text) const {
    std::ofstream(file(name)) << text;
  }
  static json::value words(std::vector<std::string> const& all) {
    return json::array(all.begin(), all.end());
  }
  /// Orders ranks that run `script`, with modules.
  void launch(int ranks, std::string const& script, std::vector<std::string> const& modules,
              int attempt = 1, std::vector<std::string> command = {}) {
    write("script.py", script);
    if (command.empty()) command = {python, "-u", "script.py"};
    start_command(ranks, command,
                  {{"attempt", attempt},
                   {"working_dir", file("").string()},
                   {"env", {{"PYTHONPATH", file("modules").string()}}},
                   {"preload", words(modules)}});
  }
  /// Returns the next `count` reports of the kind `what`.
  std::vector<json::value> told(std::string const& what, std::size_t count) {
    std::vector<json::value> all;
    while (all.size() < count) {
      auto const r = report();
      if (r.is_null()) break;
      if (auto const* found = r.as_object().if_contains(what)) all.push_back(*found);
    }
    EXPECT_EQ(all.size(), count) << what;
    all.resize(count);
    return all;
  }
  std::string log(int rank) const { return read_file(file(std::to_string(rank) + ".log")); }
  static std::string why_not(json::value const& started) {
    return std::string(started.at("not_preloaded").as_string());
  }
  static pid_t pid_of(json::value const& started) { return started.at("pid").to_number<pid_t>(); }
};

TEST_F(preloads, ranks_share_the_imports_and_have_the_launcher_as_parent) {
  launch(3, "import heavy, os\nprint(heavy.where != os.getpid(), os.getppid())\n", {"heavy"});
  for (auto const& e : told("ended", 3)) EXPECT_EQ(e.at("exit_status").to_number<int>(), 0);
  for (int rank : {0, 1, 2})
    EXPECT_EQ(log(rank), "True " + std::to_string(first_child_of(process.pid)) + "\n");
}

TEST_F(preloads, ranks_see_no_trace_of_the_fork_server) {
  std::filesystem::create_directories(file("pkg"));
  write("pkg/__init__.py", "");
  write("pkg/probe.py", probe);
  write("pkg/__main__.py", probe);
  write("hook.py",
        "import sys\ndef hook(*_):\n    raise KeyError('in the hook')\nsys.excepthook = hook\n"
        "raise ValueError('the first')\n");
  write("fails.py", "import sys\ndef f():\n    raise ValueError(sys.argv)\nf()\n");
  std::vector<std::vector<std::string>> const all = {{"script.py", "a", "-b"},
                                                     {"./script.py"},
                                                     {file("script.py").string()},
                                                     {"-m", "pkg.probe", "x"},
                                                     {"-m", "pkg"},
                                                     {"pkg", "x"},
                                                     {"-c", probe, "x"},
                                                     {"fails.py"},
                                                     {"hook.py"},
                                                     {"no.py"},
                                                     {"-m", "no"},
                                                     {"-P", "script.py"},
                                                     {"-I", "script.py"}};
  for (auto const& more : all) {
    std::vector<std::string> command{python, "-W", "ignore"};
    command.insert(command.end(), more.begin(), more.end());
    std::string seen[2];
    int status[2];
    for (int preloaded : {0, 1}) {
      launch(1, probe, {preloaded == 1 ? "csv" : "no_such_module"}, 1, command);
      auto const began = told("started", 1);
      EXPECT_EQ(why_not(began[0]).empty(), preloaded == 1) << why_not(began[0]);
      status[preloaded] = told("ended", 1)[0].at("exit_status").to_number<int>();
      seen[preloaded] = log(0);
    }
    EXPECT_EQ(seen[0], seen[1]) << more[0];
    EXPECT_EQ(status[0], status[1]) << more[0];
    EXPECT_FALSE(seen[0].empty());
  }
}

TEST_F(preloads, environment_changes_by_imports_are_kept) {
  write("modules/sets.py",
        "import os\nos.environ.setdefault('NEW', 'of the import')\n"
        "os.environ['GIVEN'] = 'changed'\nos.environ.pop('LOST', None)\n");
  write("script.py",
        "import os, sets\nprint([os.environ.get(n) for n in ('NEW', 'GIVEN', 'LOST')])\n");
  for (auto const* module : {"sets", "no_such_module"}) {
    start_command(
        1, {python, "script.py"},
        {{"working_dir", file("").string()},
         {"env", {{"PYTHONPATH", file("modules").string()}, {"GIVEN", "own"}, {"LOST", "own"}}},
         {"preload", words({module})}});
    EXPECT_EQ(told("ended", 1)[0].at("exit_status").to_number<int>(), 0);
    EXPECT_EQ(log(0), "['of the import', 'changed', None]\n") << module;
  }
}

// The launcher signals the group of the process that a rank reports.
TEST_F(preloads, rank_that_reports_another_process_id_is_distrusted) {
  write("modules/lies.py",
        "import os\nreal, first = os.getpid, os.getpid()\n"
        "os.getpid = lambda: first if real() == first else 1\n");
  launch(1, "import sys\nsys.exit(4)\n", {"lies"});
  EXPECT_NE(why_not(told("started", 1)[0]), "");
  EXPECT_EQ(told("ended", 1)[0].at("exit_status").to_number<int>(), 4);
}

TEST_F(preloads, rank_that_reports_another_rank_is_distrusted) {
  write("modules/lies.py",
        "import os, time\nreal, launcher, first = os.getpid, os.getppid(), os.getpid()\n"
        "path = '" +
            file("one").string() +
            "'\n"
            "def lie():\n"
            "    if os.getppid() != launcher or real() == first: return real()\n"
            "    try:\n"
            "        os.close(os.open(path, os.O_CREAT | os.O_EXCL))\n"
            "    except FileExistsError:\n"
            "        while not os.path.exists(path + '.pid'): time.sleep(0.001)\n"
            "        return int(open(path + '.pid').read())\n"
            "    with open(path + '.new', 'w') as f: f.write(str(real()))\n"
            "    os.rename(path + '.new', path + '.pid')\n"
            "    return real()\n"
            "os.getpid = lie\n");
  launch(2, "import sys, time\ntime.sleep(0.5)\nsys.exit(4)\n", {"lies"});
  auto const began = told("started", 2);
  EXPECT_NE(pid_of(began[0]), pid_of(began[1]));
  EXPECT_NE(why_not(began[0]).empty(), why_not(began[1]).empty())
      << "one of the ranks starts without the preload";
  for (auto const& e : told("ended", 2)) EXPECT_EQ(e.at("exit_status").to_number<int>(), 4);
}

TEST_F(preloads, multiprocessing_state_is_that_of_the_rank) {
  launch(2,
         "import multiprocessing.process as p, os\n"
         "print(p.ORIGINAL_DIR == os.getcwd(), bytes(p.current_process().authkey).hex())\n",
         {"multiprocessing"});
  told("ended", 2);
  EXPECT_TRUE(log(0).starts_with("True ")) << log(0);
  EXPECT_NE(log(0), log(1));
}

TEST_F(preloads, relative_pythonpath_disables_the_preload) {
  for (auto const* path : {"/a:", ":/a", "/a::/b", "lib"}) {
    start_command(1, {python, "-c", ""},
                  {{"env", {{"PYTHONPATH", path}}}, {"preload", words({"json"})}});
    EXPECT_EQ(why_not(told("started", 1)[0]), "PYTHONPATH contains a relative directory") << path;
    told("ended", 1);
  }
}

TEST_F(preloads, exit_statuses_and_signals_are_reported) {
  launch(4,
         "import os, signal, sys, time\n"
         "rank = int(os.environ['RANK'])\n"
         "print('last words', file=sys.stderr)\n"
         "if rank == 0: sys.exit(7)\n"
         "if rank == 1: os.kill(os.getpid(), signal.SIGKILL)\n"
         "if rank == 2: os.kill(os.getpid(), signal.SIGINT)\n"
         "time.sleep(1000)\n",
         {"heavy"});
  std::map<int, json::value> all;
  for (auto const& e : told("ended", 3)) all[e.at("rank").to_number<int>()] = e;
  EXPECT_EQ(all.at(0).at("exit_status").to_number<int>(), 7);
  EXPECT_EQ(all.at(0).at("stderr").as_array(), json::array{"last words"});
  EXPECT_EQ(all.at(1).at("signal").to_number<int>(), SIGKILL);
  EXPECT_EQ(all.at(2).at("signal").to_number<int>(), SIGINT);
  say(R"({"stop": {"grace_ms": 60000}})");
  auto const last = told("ended", 1)[0];
  EXPECT_EQ(last.at("signal").to_number<int>(), SIGTERM);
  EXPECT_TRUE(last.at("stopped").as_bool());
}

TEST_F(preloads, next_attempt_uses_the_same_fork_server) {
  auto const script = "import heavy\nprint(heavy.where)\n";
  launch(2, script, {"heavy"});
  told("ended", 2);
  auto const first = log(0);
  launch(2, script, {"heavy"}, 2);
  told("ended", 2);
  EXPECT_EQ(log(0), first);
  EXPECT_EQ(log(1), first);
  orders.reset();
  EXPECT_EQ(wait(), 0);
  EXPECT_FALSE(alive(std::stoi(first)));
}

TEST_F(preloads, killed_fork_server_ends_no_rank_and_is_replaced) {
  auto const script = "import heavy, os, time\nprint(heavy.where)\ntime.sleep(1000)\n";
  launch(1, script, {"heavy"});
  auto const rank = pid_of(told("started", 1)[0]);
  auto const until = clock::now() + 20s;
  while (!log(0).ends_with("\n") && clock::now() < until) std::this_thread::sleep_for(2ms);
  auto const server = std::stoi(log(0));
  ::kill(server, SIGKILL);
  while (alive(server)) std::this_thread::yield();
  EXPECT_TRUE(alive(rank));
  ::kill(rank, SIGKILL);
  EXPECT_EQ(told("ended", 1)[0].at("signal").to_number<int>(), SIGKILL);
  launch(1, "import heavy\nprint(heavy.where)\n", {"heavy"}, 2);
  EXPECT_EQ(why_not(told("started", 1)[0]), "");
  told("ended", 1);
  EXPECT_NE(log(0), std::to_string(server) + "\n");
}

TEST_F(preloads, failed_preload_is_reported_and_ranks_start_without_it) {
  std::pair<char const*, char const*> const all[] = {
      {"threads", "1 more thread after the imports (python3): a fork would be without"},
      {"broken", "import broken: ValueError: of no use"},
      {"no_such", "import no_such: ModuleNotFoundError: No module named 'no_such'"},
      {"leaves", "the fork server was killed"},
      {"leaves_a_fork", "the fork server was killed"}};
  for (auto const& [module, why] : all) {
    launch(1, "import sys\nsys.exit(5)\n", {"heavy", module});
    EXPECT_EQ(why_not(told("started", 1)[0]), why);
    EXPECT_EQ(told("ended", 1)[0].at("exit_status").to_number<int>(), 5);
  }
  launch(1, "", {"heavy"}, 1, {"/bin/sh", "-c", "exit 6"});
  EXPECT_EQ(why_not(told("started", 1)[0]), "the command is not a Python program");
  EXPECT_EQ(told("ended", 1)[0].at("exit_status").to_number<int>(), 6);
  launch(1, "", {"heavy"}, 1, {"/no/python", "script.py"});
  EXPECT_EQ(told("ended", 1)[0].at("not_started").as_string(), "'/no/python': no such command");
}

TEST_F(preloads, ranks_stopped_during_the_imports_do_not_start) {
  write("modules/slow.py", "import time\ntime.sleep(1000)\n");
  launch(2, "", {"slow"});
  say(R"({"stop": {"rank": [1], "grace_ms": 60000}})");
  say(R"({"stop": {"grace_ms": 60000}})");
  for (auto const& e : told("ended", 2)) {
    EXPECT_TRUE(e.at("stopped").as_bool());
    EXPECT_EQ(e.at("not_started").as_string(), "the rank was stopped before it started");
  }
  orders.reset();
  EXPECT_EQ(wait(), 0);
}

TEST_F(preloads, no_process_outlives_its_rank_or_the_launcher) {
  auto const script =
      "import heavy, os, subprocess, time\n"
      "print(heavy.where)\n"
      "p = subprocess.Popen(['sleep', '1000'], start_new_session=True)\n"
      "print(os.getpid(), p.pid)\n"
      "time.sleep(1000)\n";
  for (bool const stopped : {true, false}) {
    std::filesystem::remove(file("0.log"));
    launch(1, script, {"heavy"}, stopped ? 1 : 2);
    auto const until = clock::now() + 20s;
    auto const lines = [this] {
      auto const text = log(0);
      return std::count(text.begin(), text.end(), '\n');
    };
    while (lines() < 2 && clock::now() < until) std::this_thread::sleep_for(2ms);
    std::istringstream pids(log(0));
    std::vector<pid_t> all;
    for (pid_t p = 0; pids >> p;) all.push_back(p);
    ASSERT_EQ(all.size(), 3u);
    if (stopped) {
      say(R"({"stop": {"grace_ms": 0}})");
      told("ended", 1);
      all.erase(all.begin());  // the fork server stays
    } else {
      ::kill(first_child_of(process.pid), SIGKILL);
      wait();
    }
    expect_gone(all);
  }
}

TEST_F(preloads, kept_launcher_exits_at_the_end_of_its_lease) {
  launch(1, "import heavy\nprint(heavy.where)\n", {"heavy"});
  told("ended", 1);
  auto const server = std::stoi(log(0));
  EXPECT_TRUE(alive(server));
  say(R"({"lease_until_ns": )" + std::to_string(clock::now().time_since_epoch().count()) + "}");
  EXPECT_EQ(wait(), 0);
  EXPECT_FALSE(alive(server));
}

TEST_F(preloads, run_with_the_rights_of_the_given_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  namespace fs = std::filesystem;
  fs::permissions(directory.path(), fs::perms::others_exec | fs::perms::others_read,
                  fs::perm_options::add);
  user = "nobody";
  launch(1,
         "import heavy, os\nprint(os.getuid() == os.stat('/proc/%d' % heavy.where).st_uid != 0)\n",
         {"heavy"});
  EXPECT_EQ(why_not(told("started", 1)[0]), "");
  told("ended", 1);
  EXPECT_EQ(log(0), "True\n");
}

}  // namespace
}  // namespace muster::launch
