#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "base/process/file_descriptor.hpp"
#include "base/process/native/frames.hpp"

namespace muster::native {

// Visible in stacks, so it must not be inlined or tail-called.
__attribute__((noinline)) void waits_for_a_byte(int from) {
  char byte = 0;
  while (::read(from, &byte, 1) < 0 && errno == EINTR) {
  }
  asm volatile("" ::: "memory");
}
__attribute__((noinline)) void runs_the_rank(int from) {
  waits_for_a_byte(from);
  asm volatile("" ::: "memory");
}

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

char state_of(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string const stat(std::istreambuf_iterator<char>(in), {});
  auto const behind = stat.rfind(") ");
  return behind == std::string::npos ? 'X' : stat[behind + 2];
}

void await_state(pid_t pid, char state) {
  auto const until = clock::now() + 10s;
  while (state_of(pid) != state && clock::now() < until) std::this_thread::sleep_for(1ms);
  ASSERT_EQ(state_of(pid), state);
}

struct native_stacks_of_a_child : testing::Test {
  native_stacks_of_a_child() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    from = file_descriptor(ends[0]);
    to = file_descriptor(ends[1]);
  }
  ~native_stacks_of_a_child() override {
    if (pid > 0) ::kill(pid, SIGKILL);
    if (pid > 0) ::waitpid(pid, nullptr, 0);
  }
  template <class F>
  void begin(F run) {
    pid = ::fork();
    if (pid != 0) return;
    ::close(to.release());
    run();
    ::_exit(0);
  }
  std::string frames() {
    auto const s = sample(pid, clock::now() + 5s);
    return frame_finder().frames_of(s, clock::now() + 5s);
  }

  file_descriptor from, to;
  pid_t pid = -1;
};

TEST_F(native_stacks_of_a_child, name_its_functions_innermost_first) {
  begin([this] { runs_the_rank(from.get()); });
  await_state(pid, 'S');
  auto const said = frames();
  auto const inner = said.find("waits_for_a_byte(int)"), outer = said.find("runs_the_rank(int)");
  ASSERT_NE(inner, std::string::npos) << said;
  ASSERT_NE(outer, std::string::npos) << said;
  EXPECT_LT(inner, outer);
  EXPECT_TRUE(said.starts_with("Thread native_stacks_t (most recent call first):\n  File \""))
      << said;
  EXPECT_EQ(said.find("0x"), std::string::npos) << "equal stacks are equal texts\n" << said;
  EXPECT_EQ(frames(), said);
}

TEST_F(native_stacks_of_a_child, stopped_process_has_stacks_and_stays_stopped) {
  begin([this] { runs_the_rank(from.get()); });
  await_state(pid, 'S');
  ::kill(pid, SIGSTOP);
  await_state(pid, 'T');
  EXPECT_NE(frames().find("waits_for_a_byte(int)"), std::string::npos);
  await_state(pid, 'T');
  ::kill(pid, SIGCONT);
  await_state(pid, 'S');
}

// A system call that a signal would interrupt continues, for its full duration.
TEST_F(native_stacks_of_a_child, interrupt_no_blocking_call) {
  begin([this] {
    timespec const long_enough{0, 400'000'000};
    timespec left{};
    if (::nanosleep(&long_enough, &left) != 0) ::_exit(1);
    pollfd fd{from.get(), POLLIN, 0};
    if (::poll(&fd, 1, 10'000) != 1) ::_exit(2);
    waits_for_a_byte(from.get());
  });
  await_state(pid, 'S');
  auto const began = clock::now();
  while (clock::now() < began + 700ms) ASSERT_EQ(sample(pid, clock::now() + 5s).threads.size(), 1);
  ASSERT_EQ(::write(to.get(), "x", 1), 1);
  int status = -1;
  auto const child = std::exchange(pid, -1);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(native_stacks_of_a_child, stacks_are_limited_and_equal_ones_are_grouped) {
  begin([this] {
    for (std::size_t i = 0; i < threads_max + 3; ++i)
      std::thread([this] { waits_for_a_byte(from.get()); }).detach();
    runs_the_rank(from.get());
  });
  auto const until = clock::now() + 10s;
  process_sample s;
  while (s.threads.size() + s.left_out < threads_max + 4 && clock::now() < until)
    s = sample(pid, clock::now() + 5s);
  EXPECT_EQ(s.threads.size(), threads_max);
  EXPECT_EQ(s.left_out, 4);
  EXPECT_EQ(s.threads.front().thread, pid);
  auto const said = frame_finder().frames_of(s, clock::now() + 5s);
  EXPECT_TRUE(said.starts_with("4 threads are omitted")) << said;
  EXPECT_NE(said.find(" identical threads (most recent call first):\n"), std::string::npos) << said;
  EXPECT_GT(said.find("runs_the_rank(int)"), said.find(" identical threads "))
      << "the first thread is last";
}

// A partly symbolized text would differ each time.
TEST_F(native_stacks_of_a_child, are_empty_if_the_deadline_precedes_the_first_thread) {
  begin([this] { runs_the_rank(from.get()); });
  await_state(pid, 'S');
  auto s = sample(pid, clock::now() + 5s);
  frame_finder finder;
  EXPECT_EQ(finder.frames_of(s, clock::now() - 1s), "");
  auto const said = finder.frames_of(s, clock::now() + 5s);
  EXPECT_EQ(finder.frames_of(s, clock::now() - 1s), said) << "cached symbols need no time";
  s.threads.push_back(s.threads[0]);
  s.threads.back().thread = pid + 1;
  s.threads.back().counter += 1'000;
  auto const with_another = finder.frames_of(s, clock::now() - 1s);
  EXPECT_TRUE(with_another.starts_with("1 thread is omitted")) << with_another;
  EXPECT_TRUE(with_another.ends_with(said));
  s.threads.erase(s.threads.begin());
  EXPECT_TRUE(
      finder.frames_of(s, clock::now() + 5s)
          .ends_with(
              "Thread (most recent call first):\n  in a system call that cannot be interrupted\n"))
      << "the last symbol is used for it";
}

TEST_F(native_stacks_of_a_child, truncated_stack_data_is_refused) {
  begin([this] { runs_the_rank(from.get()); });
  await_state(pid, 'S');
  auto const s = sample(pid, clock::now() + 5s);
  auto const bytes = to_bytes(s);
  auto const twice = bytes + bytes;
  std::string_view left = twice;
  for (int i = 0; i < 2; ++i) {
    auto const again = from_bytes(left);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->process, pid);
    EXPECT_EQ(again->map, s.map);
    ASSERT_EQ(again->threads.size(), 1);
    EXPECT_EQ(again->threads[0].registers, s.threads[0].registers);
    EXPECT_EQ(again->threads[0].stack, s.threads[0].stack);
  }
  EXPECT_TRUE(left.empty());
  for (std::size_t size = 0; size < bytes.size(); size += 1 + size / 64) {
    std::string_view cut = std::string_view(bytes).substr(0, size);
    EXPECT_FALSE(from_bytes(cut)) << size;
  }
  // Reading must survive arbitrary content of a sample.
  auto wild = s;
  wild.threads[0].stack.assign(stack_bytes_max, '\xff');
  wild.threads[0].counter = 3;
  EXPECT_TRUE(
      frame_finder()
          .frames_of(wild, clock::now() + 5s)
          .starts_with("Thread native_stacks_t (most recent call first):\n  File \"\" in ??\n"));
  wild.map = "no map\n";
  (void)frame_finder().frames_of(wild, clock::now() + 5s);
}

TEST(native_stacks_of_this_process, include_all_other_threads) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  file_descriptor const from(ends[0]), to(ends[1]);
  std::thread other([&] { runs_the_rank(from.get()); });
  std::string said;
  auto const until = clock::now() + 10s;
  while (said.find("waits_for_a_byte(int)") == std::string::npos && clock::now() < until)
    said = frame_finder().frames_of(sample_own(clock::now() + 5s), clock::now() + 5s);
  EXPECT_NE(said.find("waits_for_a_byte(int)"), std::string::npos) << said;
  EXPECT_EQ(said.find("sample_own"), std::string::npos) << "the sampling thread is excluded\n"
                                                        << said;
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child process remains";
  EXPECT_EQ(::write(to.get(), "x", 1), 1);
  other.join();
}

TEST(native_stacks_of_a_missing_process, are_empty) {
  EXPECT_TRUE(sample(1 << 30, clock::now() + 1s).threads.empty());
  EXPECT_EQ(frame_finder().frames_of({}, clock::now() + 1s), "");
  frame_finder const without("libno-such-library.so");
  EXPECT_FALSE(without.can());
}

}  // namespace
}  // namespace muster::native
