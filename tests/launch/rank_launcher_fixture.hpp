// The launcher of a program's ranks as a process, controlled as by a worker.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <boost/json.hpp>
#include <chrono>
#include <fstream>
#include <map>
#include <optional>
#include <thread>

#include "base/process/child.hpp"
#include "base/process/line_splitter.hpp"
#include "launch/ranks/rank_orders.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::launch {

namespace json = boost::json;
using namespace std::chrono_literals;
using test::read_file;
using clock = std::chrono::steady_clock;

inline pid_t first_child_of(pid_t parent) {
  auto const id = std::to_string(parent);
  pid_t child = 0;
  std::ifstream("/proc/" + id + "/task/" + id + "/children") >> child;
  return child;
}

inline bool alive(pid_t pid) {
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
  void start(int ranks, std::string const& script, json::object more = {}) {
    start_command(ranks, {"/bin/sh", "-c", "P=" + file("").string() + "; " + script},
                  std::move(more));
  }
  void start_command(int ranks, std::vector<std::string> const& command, json::object more = {}) {
    json::array all, addresses;
    for (int i = 0; i < ranks; ++i) {
      all.push_back({{"rank", i},
                     {"type", "worker"},
                     {"index", i},
                     {"command", json::array(command.begin(), command.end())}});
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
  /// Returns the next report, or null at the end of the reports.
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
  /// Waits for the end of all ranks, and returns the reports by rank.
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
  /// Starts two ranks that ignore SIGTERM, each with child processes.
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

}  // namespace muster::launch
