#include "app/process_setup.hpp"

#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <random>
#include <utility>

#include "app/logging.hpp"

namespace muster::server {
namespace {

// A shortage of descriptors ends when it has not occurred for this time.
constexpr std::chrono::seconds over_after{10};

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

extern "C" void exit_at_once(int) {
  write_log_line(spdlog::level::warn, "received a second stop request; exiting immediately");
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

std::size_t share_of_files(std::size_t wanted, std::size_t divisor) {
  return std::clamp<std::size_t>(file_limit() / divisor, 8, std::max<std::size_t>(wanted, 8));
}

std::thread named_thread(char const* name, std::function<void()> work) {
  return std::thread([name, work = std::move(work)] {
    ::pthread_setname_np(::pthread_self(), name);
    work();
  });
}

std::uint64_t random_64() {
  std::random_device device;
  for (;;)
    if (auto const n = std::uint64_t{device()} << 32 | device(); n != 0) return n;
}

void descriptor_shortage::noticed() {
  auto const now = std::chrono::steady_clock::now();
  {
    std::lock_guard lock(mutex_);
    auto const last = std::exchange(last_, now);
    if (last && now - *last < over_after) return;
  }
  spdlog::warn(
      "no file descriptor is left; new connections wait until other connections are closed "
      "limit={} "
      "remedy=\"raise the limit: ulimit -n, or LimitNOFILE of systemd\"",
      limit_);
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
  write_log_line(
      spdlog::level::err,
      "'" + step_ + "' did not finish within --stop-timeout; exiting without waiting for it");
  ::_exit(1);
}

}  // namespace muster::server
