// Signals by sigwait on the main thread, limits by setrlimit, a thread that ends a stop that hangs.
#include "server/app/process.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <random>

namespace muster::server {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

extern "C" void exit_at_once(int) {
  constexpr char line[] = "muster serve: told to stop a second time, leaving at once\n";
  [[maybe_unused]] auto const written = ::write(STDERR_FILENO, line, sizeof line - 1);
  ::_exit(1);
}

}  // namespace

void hold_stop_signals() {
  auto const set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

std::string wait_for_stop_signal() {
  auto const set = stop_signals();
  int signal = 0;
  while (sigwait(&set, &signal) != 0) {
  }
  return signal == SIGINT ? "SIGINT" : "SIGTERM";
}

std::optional<std::string> wait_for_stop_signal(std::chrono::milliseconds limit) {
  auto const set = stop_signals();
  auto const end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    auto const left = std::max<std::chrono::nanoseconds>(end - std::chrono::steady_clock::now(),
                                                         std::chrono::nanoseconds(0));
    timespec const time{static_cast<time_t>(left.count() / 1'000'000'000),
                        static_cast<long>(left.count() % 1'000'000'000)};
    auto const signal = sigtimedwait(&set, nullptr, &time);
    if (signal > 0) return signal == SIGINT ? "SIGINT" : "SIGTERM";
    if (errno != EINTR) return {};
  }
}

void request_stop() {
  ::kill(::getpid(), SIGTERM);
}

void exit_on_next_stop_signal() {
  std::signal(SIGTERM, exit_at_once);
  std::signal(SIGINT, exit_at_once);
  auto const set = stop_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

std::uint64_t raise_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  return file_limit();
}

std::uint64_t file_limit() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

std::uint64_t random_64() {
  std::random_device device;
  for (;;)
    if (auto const n = std::uint64_t{device()} << 32 | device(); n != 0) return n;
}

stop_watchdog::stop_watchdog(std::chrono::microseconds limit)
    : deadline_(std::chrono::steady_clock::now() + limit), thread_([this] { watch(); }) {}

stop_watchdog::~stop_watchdog() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void stop_watchdog::enter(std::string step) {
  std::lock_guard lock(mutex_);
  step_ = std::move(step);
}

void stop_watchdog::watch() {
  std::unique_lock lock(mutex_);
  if (changed_.wait_until(lock, deadline_, [this] { return over_; })) return;
  std::fprintf(stderr, "muster serve: no end of '%s' within --stop-timeout, leaving without it\n",
               step_.c_str());
  ::_exit(1);
}

}  // namespace muster::server
