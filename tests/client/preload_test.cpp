#include <fcntl.h>
#include <sys/ioctl.h>

#include "base/process/file_descriptor.hpp"
#include "client/programs/kept_launchers.hpp"
#include "muster/log.hpp"
#include "tests/client/ranks_fixture.hpp"

namespace muster::test {
namespace {

constexpr auto python = "/usr/bin/python3";

struct preloads_of_ranks : ranks_of_a_worker {
  void SetUp() override {
    if (::access(python, X_OK) != 0) GTEST_SKIP() << "needs Python";
    ::signal(SIGPIPE,
             SIG_IGN);  // as in `muster worker`, since launchers can die during a write
  }
  /// Waits until a stopped launcher has a start order in its standard input.
  static void await_order(pid_t launcher) {
    file_descriptor const in(
        ::open(("/proc/" + std::to_string(launcher) + "/fd/0").c_str(), O_RDONLY | O_NONBLOCK));
    constexpr int more_than_a_lease = 200;
    for (int bytes = 0; bytes < more_than_a_lease; std::this_thread::yield())
      ASSERT_EQ(::ioctl(in.get(), FIONREAD, &bytes), 0);
  }
  static v1::ServerMessage start_python(std::string const& code, std::uint32_t attempt,
                                        std::string const& module = "json") {
    auto m = start(1, "", attempt);
    auto& order = *m.mutable_ranks()->mutable_start(0);
    order.add_preload(module);
    auto& command = *order.mutable_rank(0)->mutable_command();
    command.Clear();
    for (auto const& word : {std::string(python), std::string("-c"), code}) *command.Add() = word;
    return m;
  }
};

TEST_F(preloads_of_ranks, are_reused_by_the_next_attempt_of_the_program) {
  std::filesystem::create_directories(file("modules"));
  std::ofstream(file("modules/heavy.py")) << "import os\nwhere = os.getpid()\n";
  auto const order = [&](std::uint32_t attempt) {
    auto m = start_python("import heavy; open('" + file("where") + std::to_string(attempt) +
                              "', 'w').write(str(heavy.where))",
                          attempt, "heavy");
    (*m.mutable_ranks()->mutable_start(0)->mutable_env())["PYTHONPATH"] = file("modules");
    return m;
  };
  auto const launcher = [&](std::uint32_t attempt) {
    auto const server = read_file(file("where") + std::to_string(attempt));
    auto const stat = read_file("/proc/" + server + "/stat");
    return static_cast<pid_t>(std::stoi(stat.substr(stat.rfind(") ") + 4)));
  };
  std::promise<void> noticed;
  bool told = false;
  set_log([&](log_level, std::string_view text) {
    if (text.starts_with("a rank launcher failed: ") && !std::exchange(told, true))
      noticed.set_value();
  });
  serve({[&](worker_stream* s, v1::WorkerMessage const& hello) {
    EXPECT_TRUE(hello.hello().programs().preloads());
    for (std::uint32_t attempt : {1u, 2u, 3u}) {
      s->Write(order(attempt));
      heard h(s);
      ASSERT_TRUE(h.until(1, 1));
      EXPECT_EQ(h.ends[0].exit_status(), 0u);
      if (attempt != 2) continue;
      EXPECT_EQ(read_file(file("where1")), read_file(file("where2")));
      // After its launcher was killed, the next attempt gets a new one.
      ::kill(launcher(2), SIGKILL);
      noticed.get_future().wait();
    }
    EXPECT_NE(read_file(file("where3")), read_file(file("where2")));
    // The launcher dies after it received an order, and before it starts a rank.
    auto const stays = launcher(3);
    ::kill(stays, SIGSTOP);
    s->Write(order(4));
    await_order(stays);
    ::kill(stays, SIGKILL);
    heard h(s);
    ASSERT_TRUE(h.until(0, 1));
    EXPECT_NE(h.ends[0].not_started(), "");
    EXPECT_TRUE(h.ends[0].stopped()) << "this is not a failure of the program";
    s->Write(order(5));
    heard next(s);
    ASSERT_TRUE(next.until(1, 1));
    EXPECT_EQ(next.ends[0].exit_status(), 0u);
  }});
  set_log({});
  EXPECT_FALSE(alive(std::stoi(read_file(file("where5")))))
      << "the fork server has ended with the worker";
}

TEST_F(preloads_of_ranks, failed_preload_is_reported_with_its_reason) {
  serve({[&](worker_stream* s, v1::WorkerMessage const&) {
           s->Write(start_python("import time; time.sleep(1000)", 1, "no_such"));
           v1::WorkerMessage m;
           while (m.ranks().started_size() == 0) ASSERT_TRUE(s->Read(&m));
           EXPECT_EQ(m.ranks().started(0).not_preloaded(),
                     "import no_such: ModuleNotFoundError: No module named 'no_such'");
         },
         [](worker_stream*, v1::WorkerMessage const& hello) {
           ASSERT_EQ(hello.hello().programs().held_size(), 1);
           EXPECT_NE(hello.hello().programs().held(0).not_preloaded(), "");
         }});
}

TEST(kept_launchers, are_reused_once_if_their_lease_is_long_enough) {
  using clock = kept_launchers::clock;
  kept_launchers all;
  auto const now = clock::now();
  EXPECT_FALSE(all.keep(7, 70, now + 10s));
  EXPECT_FALSE(all.take(7, now + 11s));
  EXPECT_FALSE(all.take(8, now));
  EXPECT_EQ(all.take(7, now + 10s), 70u);
  EXPECT_FALSE(all.take(7, now));
}

TEST(kept_launchers, number_is_limited_to_one_per_program) {
  kept_launchers all;
  kept_launchers::clock::time_point const until{10s};
  EXPECT_FALSE(all.keep(1, 10, until));
  EXPECT_EQ(all.keep(1, 11, until), 10u);
  for (std::uint64_t p : {2u, 3u, 4u}) EXPECT_FALSE(all.keep(p, 10 * p, until));
  EXPECT_EQ(all.keep(5, 50, until), 11u);
  all.gone(50);
  EXPECT_FALSE(all.take(5, {}));
  EXPECT_EQ(all.take(4, {}), 40u);
}

}  // namespace
}  // namespace muster::test
