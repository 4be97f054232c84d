// The launcher of a program's ranks as a process, driven as a worker does.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <boost/json.hpp>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>

#include "launch/ranks/rank_orders.hpp"
#include "process/child.hpp"
#include "process/line_splitter.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::launch {
namespace {

namespace json = boost::json;
using namespace std::chrono_literals;
using test::read_file;
using clock = std::chrono::steady_clock;

pid_t first_child_of(pid_t parent) {
  auto const id = std::to_string(parent);
  pid_t child = 0;
  std::ifstream("/proc/" + id + "/task/" + id + "/children") >> child;
  return child;
}

bool alive(pid_t pid) {
  auto const stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  auto const behind = stat.rfind(") ");
  return behind != std::string::npos && stat[behind + 2] != 'Z' && stat[behind + 2] != 'X';
}

struct rank_launchers : testing::Test {
  rank_launchers() {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    orders = file_descriptor(ends[1]);
    file_descriptor const in(ends[0]);
    process = start_child(
        {.argv = {RANK_LAUNCHER}, .environment = {{"PATH", "/usr/bin:/bin"}}, .in = in.get()});
  }
  ~rank_launchers() override {
    orders.reset();
    if (!status) ::waitpid(process.pid, nullptr, 0);
  }

  void say(std::string line) {
    line += '\n';
    EXPECT_EQ(::write(orders.get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
  }
  /// Starts so many ranks that run a shell script.
  void start(int ranks, std::string const& script, json::object more = {}) {
    json::array all, addresses;
    for (int i = 0; i < ranks; ++i) {
      all.push_back({{"rank", i},
                     {"type", "worker"},
                     {"index", i},
                     {"command", {"/bin/sh", "-c", "P=" + file("").string() + "; " + script}}});
      addresses.emplace_back("h:" + std::to_string(i + 1));
    }
    json::object order{{"attempt", 1},
                       {"name", "p"},
                       {"task", json::array{{{"type", "worker"}, {"address", addresses}}}},
                       {"own_service", "h:9"},
                       {"rank", all}};
    for (auto& [key, value] : more) order[key] = value;
    say(json::serialize(json::object{{"start", order},
                                     {"logs", directory.path()},
                                     {"work", file("work").string()},
                                     {"user", user}}));
  }
  /// The next report, or the end of reports: null.
  json::value report() {
    auto const until = clock::now() + 20s;
    while (reports.empty() && clock::now() < until) {
      pollfd wait{process.out.get(), POLLIN, 0};
      ::poll(&wait, 1, 1000);
      char bytes[4096];
      auto const n = ::read(process.out.get(), bytes, sizeof bytes);
      if (n == 0) return {};
      if (n > 0) lines.add({bytes, static_cast<std::size_t>(n)});
    }
    if (reports.empty()) return {};
    auto first = std::move(reports.front());
    reports.erase(reports.begin());
    return first;
  }
  /// Until all have ended: by rank.
  std::map<int, json::value> ends() {
    std::map<int, json::value> all;
    for (auto r = report(); !r.is_null(); r = report())
      if (auto const* e = r.as_object().if_contains("ended"))
        all[e->at("rank").to_number<int>()] = *e;
    return all;
  }
  int wait() {
    int raw = 0;
    ::waitpid(process.pid, &raw, 0);
    status = WIFEXITED(raw) ? WEXITSTATUS(raw) : 128 + WTERMSIG(raw);
    return *status;
  }
  std::filesystem::path file(std::string const& name) const { return directory / name; }
  pid_t pid_in(std::string const& name) const {
    auto const until = clock::now() + 20s;
    for (;;) {
      auto const text = read_file(file(name));
      if (text.ends_with('\n')) return std::stoi(text);
      if (clock::now() > until) return -1;
      std::this_thread::sleep_for(2ms);
    }
  }
  /// Two ranks that heed no SIGTERM, each with what a process can leave behind.
  std::vector<pid_t> start_stubborn() {
    start(2,
          "sleep 1000 & echo $! > $P/child.$RANK; "
          "setsid sh -c 'echo $$ > $0/session.'$RANK'; exec sleep 1000' $P & "
          "(setsid sh -c '(sh -c \"echo \\$\\$ > $0/orphan.'$RANK'; exec sleep 1000\" &)' $P &) ; "
          "echo $$ > $P/task.$RANK; trap '' TERM; while :; do sleep 1; done");
    std::vector<pid_t> all;
    for (auto const* rank : {"0", "1"})
      for (auto const* what : {"task.", "child.", "session.", "orphan."})
        all.push_back(pid_in(std::string(what) + rank));
    for (auto const pid : all) EXPECT_TRUE(alive(pid)) << pid;
    return all;
  }
  static void expect_gone(std::vector<pid_t> const& pids) {
    for (auto const pid : pids) EXPECT_FALSE(alive(pid)) << pid;
  }

  test::temporary_directory directory;
  std::string user;
  file_descriptor orders;
  child process;
  std::optional<int> status;
  std::vector<json::value> reports;
  line_splitter lines{[this](std::string_view line) { reports.push_back(json::parse(line)); }};
};

TEST_F(rank_launchers, start_ranks_store_what_they_print_and_tell_their_ends) {
  start(3, "echo out $RANK $MUSTER_PROGRAM; echo err $RANK >&2; [ $RANK != 1 ] || exit 3; pwd");
  auto const all = ends();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all.at(0).at("exit_status").to_number<int>(), 0);
  EXPECT_EQ(all.at(1).at("exit_status").to_number<int>(), 3);
  EXPECT_EQ(json::serialize(all.at(1).at("stderr")), R"(["err 1"])");
  EXPECT_FALSE(all.at(1).at("stopped").as_bool());
  EXPECT_NE(read_file(file("2.log")).find("out 2 p\n"), std::string::npos);
  EXPECT_NE(read_file(file("2.log")).find(file("work/2").string() + "\n"), std::string::npos);
  EXPECT_EQ(wait(), 0);
}

TEST_F(rank_launchers, have_nothing_of_the_environment_but_what_they_were_started_with) {
  start(1, "env | grep -c ^MUSTER_; env | grep -v '^[A-Z_]*=' || :; [ -z \"$MUSTER_TOKEN\" ]",
        {{"env", {{"MINE", "1"}}}});
  EXPECT_EQ(ends().at(0).at("exit_status").to_number<int>(), 0);
}

TEST_F(rank_launchers, give_ranks_the_rights_of_a_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "takes root";
  namespace fs = std::filesystem;
  fs::permissions(directory.path(), fs::perms::others_exec, fs::perm_options::add);
  user = "nobody";
  start(1,
        "id -un; id -Gn; echo $USER; : > mine && ls -l mine | cut -d ' ' -f 3; "
        "kill -0 $PPID 2> /dev/null || echo powerless");
  EXPECT_EQ(ends().at(0).at("exit_status").to_number<int>(), 0);
  EXPECT_EQ(read_file(file("0.log")), "nobody\nnogroup\nnobody\nnobody\npowerless\n");
}

TEST_F(rank_launchers, stop_one_at_once_and_the_others_after_the_grace) {
  start(2, "trap '' TERM; echo $$ > $P/up.$RANK; while :; do sleep 0.1; done");
  pid_in("up.0");
  pid_in("up.1");
  auto const began = clock::now();
  say(R"({"stop": {"rank": [1]}})");
  json::value r;
  do r = report();
  while (!r.is_null() && !r.as_object().contains("ended"));
  EXPECT_EQ(r.at_pointer("/ended/rank").to_number<int>(), 1);
  EXPECT_EQ(r.at_pointer("/ended/signal").to_number<int>(), SIGKILL);
  say(R"({"stop": {"grace_ms": 60000}})");
  say(R"({"stop": {"grace_ms": 300}})");
  auto const all = ends();
  EXPECT_TRUE(all.at(0).at("stopped").as_bool());
  EXPECT_EQ(all.at(0).at("signal").to_number<int>(), SIGKILL);
  EXPECT_LT(clock::now() - began, 20s) << "a later order shortens the grace";
}

TEST_F(rank_launchers, leave_nothing_behind_when_the_worker_is_gone) {
  auto const pids = start_stubborn();
  orders.reset();
  wait();
  expect_gone(pids);
}

TEST_F(rank_launchers, leave_nothing_behind_when_the_launcher_is_killed) {
  auto const pids = start_stubborn();
  ::kill(first_child_of(process.pid), SIGKILL);
  wait();
  expect_gone(pids);
}

TEST_F(rank_launchers, leave_nothing_behind_when_the_guardian_is_killed) {
  auto const pids = start_stubborn();
  ::kill(process.pid, SIGKILL);
  auto const all = ends();  // until the launcher is gone, too
  EXPECT_EQ(all.size(), 2u);
  expect_gone(pids);
}

TEST_F(rank_launchers, say_the_last_end_when_nothing_of_any_rank_is_left) {
  auto const pids = start_stubborn();
  say(R"({"stop": {"grace_ms": 1}})");
  for (int told = 0; told < 2;) {
    auto const r = report();
    ASSERT_FALSE(r.is_null());
    if (r.as_object().contains("ended")) ++told;
  }
  expect_gone(pids);
}

TEST_F(rank_launchers, kill_all_when_the_lease_runs_out) {
  auto const pids = start_stubborn();
  auto const at = [](clock::duration from_now) {
    return R"({"lease_until_ns": )" +
           std::to_string((clock::now() + from_now).time_since_epoch().count()) + "}";
  };
  say(at(60s));
  say(at(50ms));
  auto const all = ends();
  ASSERT_EQ(all.size(), 2u);
  for (auto const& [rank, end] : all) {
    EXPECT_TRUE(end.at("lease_ran_out").as_bool());
    EXPECT_TRUE(end.at("stopped").as_bool());
  }
  expect_gone(pids);
}

TEST_F(rank_launchers, say_why_a_rank_could_not_be_started) {
  start(1, "true", {{"working_dir", "/not/there"}});
  auto const all = ends();
  EXPECT_EQ(all.at(0).at("not_started").as_string(),
            "the working directory '/not/there' does not exist on this host");
  EXPECT_EQ(wait(), 0);
}

TEST_F(rank_launchers, end_at_an_order_that_makes_no_sense) {
  say("{");
  EXPECT_EQ(wait(), 2);
}

}  // namespace
}  // namespace muster::launch
