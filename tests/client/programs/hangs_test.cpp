// Detects real hanging processes as their worker does, and names the rank. The test acts as the
// server.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "client/programs/program_options.hpp"
#include "client/programs/stack_files.hpp"
#include "client/programs/vitals.hpp"
#include "server/doctor/hang_watch.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::test {
namespace {

using namespace std::chrono_literals;
using doctor::hang_change;

constexpr int size = 4, victim = 1;
constexpr auto hang_after = 2s;

// Ranks synchronize through pipes after each step, until the victim hangs. Rank 0 releases them.
constexpr char const* hanging_script = R"(
import os, re, signal, sys, time
rank, kind, here = int(sys.argv[1]), sys.argv[2], sys.argv[3]

def hang():
    open(here + "/hangs", "w").close()
    if kind == "sleep":
        time.sleep(1000)
    elif kind == "lock_held_in_c":
        re.match(r"(a+)+$", "a" * 60 + "b")
    elif kind == "fifo":
        open(here + "/nobody").read()
    elif kind == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)

def meet(come, go):
    come.write(b"x")
    come.flush()
    if rank == 0:
        come_all.read(4)
        for one in go_all:
            one.write(b"x")
            one.flush()
    go.read(1)

come = open(here + "/come", "r+b", buffering=0)
go = open(here + "/go%d" % rank, "r+b", buffering=0)
if rank == 0:
    come_all = open(here + "/come", "rb")
    go_all = [open(here + "/go%d" % r, "r+b", buffering=0) for r in range(4)]
for step in range(1000000):
    if rank == 1 and step == 3 and kind != "healthy":
        hang()
    if kind == "healthy" and rank == 0:
        end = time.monotonic() + 0.5  # saves its state
        with open(here + "/state", "wb") as f:
            while time.monotonic() < end:
                f.write(bytes(1 << 20))
                f.flush()
                time.sleep(0.02)
    meet(come, go)
)";

struct hangs_of_processes : testing::Test {
  temporary_directory dir;
  stack_files stacks{
      dir / "stacks", dir / "works", {}, default_stack_signal(), {{STACK_READER}, {}}};
  std::map<std::uint32_t, pid_t> pids;
  doctor::hang_watch watch{now(), hang_after, std::vector<bool>(size, true)};

  ~hangs_of_processes() override {
    for (auto const& [rank, pid] : pids) ::kill(pid, SIGKILL);
    for (auto const& [rank, pid] : pids) ::waitpid(pid, nullptr, 0);
  }
  static core::time_point now() {
    return core::time_point(std::chrono::duration_cast<core::duration>(
        std::chrono::steady_clock::now().time_since_epoch()));
  }
  void begin(std::string const& kind) {
    auto const file = dir.write("ranks.py", hanging_script);
    for (auto const* name : {"come", "nobody", "go0", "go1", "go2", "go3"})
      ASSERT_EQ(::mkfifo((dir / name).c_str(), 0600), 0);
    auto const p = stacks.of_ranks();
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      std::vector<std::string> words = {"python3", file, std::to_string(rank), kind, dir.path()};
      std::vector<std::string> env = {
          "PYTHONPATH=" + p.modules.string(), "PATH=" + std::string(std::getenv("PATH")),
          "MUSTER_STACKS=" + std::to_string(p.signal) + ":" + p.directory.string()};
      ASSERT_EQ(::posix_spawnp(&pids[rank], "python3", nullptr, nullptr, pointers(words).data(),
                               pointers(env).data()),
                0);
    }
  }
  static std::vector<char*> pointers(std::vector<std::string>& words) {
    std::vector<char*> all;
    for (auto& w : words) all.push_back(w.data());
    all.push_back(nullptr);
    return all;
  }
  /// Samples as a server does, for at most `longest`.
  hang_change run(std::chrono::milliseconds longest) {
    auto const until = now() + longest;
    while (now() < until) {
      std::this_thread::sleep_until(
          std::chrono::steady_clock::time_point(std::min(watch.due(), until).time_since_epoch()));
      if (auto const news = look(); news != hang_change::none) return news;
    }
    return hang_change::none;
  }
  hang_change look() {
    doctor::look l;
    for (auto const& [rank, v] : vitals_of(pids))
      l.vitals.push_back({.rank = rank,
                          .state = v.state,
                          .cpu_ms = v.cpu_ms,
                          .io_bytes = v.io_bytes,
                          .faults = v.faults,
                          .wakeups = v.wakeups});
    auto const a = watch.looked(now(), std::move(l));
    if (a.news != hang_change::none || !a.stacks) return a.news;
    v1::RankStacks taken;
    stacks.take(pids, taken);
    std::vector<doctor::rank_stack> all;
    for (auto const& s : taken.stack())
      all.push_back({s.rank(), s.text(), s.process(), s.state() != v1::STACK_TAKEN});
    return watch.stacks(now(), std::move(all));
  }
};

struct hanging : hangs_of_processes, testing::WithParamInterface<char const*> {};

TEST_P(hanging, rank_is_named_within_five_seconds_of_the_threshold) {
  begin(GetParam());
  while (!std::filesystem::exists(dir / "hangs")) std::this_thread::sleep_for(10ms);
  auto const begun = now();
  ASSERT_EQ(run(60s), hang_change::found);
  auto const took = std::chrono::duration_cast<std::chrono::milliseconds>(now() - begun);
  RecordProperty("ms", std::to_string(took.count()));
  auto const& h = *watch.found();
  EXPECT_EQ(h.rank, victim) << text(h);
  bool const stopped = std::string_view(GetParam()) == "stopped";
  EXPECT_EQ(h.evidence, stopped ? core::hang_evidence::stopped : core::hang_evidence::stack);
  if (!stopped) {
    EXPECT_TRUE(h.line.ends_with(" in hang")) << h.line;
  }
  EXPECT_LE(took, 30s) << "on a busy machine; 7 s on an idle one";
  std::cout << GetParam() << ": " << took.count() << " ms, " << text(h) << '\n';
}

INSTANTIATE_TEST_SUITE_P(processes, hanging,
                         testing::Values("sleep", "lock_held_in_c", "fifo", "stopped"),
                         [](auto const& kind) { return std::string(kind.param); });

TEST_F(hangs_of_processes, wait_for_a_checkpointing_rank_is_not_a_hang) {
  begin("healthy");
  EXPECT_EQ(run(8s), hang_change::none);
}

}  // namespace
}  // namespace muster::test
