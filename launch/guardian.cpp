// A forked process that holds the end of a pipe; and orphans, found in /proc.
#include "launch/guardian.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace muster::launch {
namespace {

// Of the guardian only. Static, since it is used after fork where nothing may be allocated.
pid_t groups[guardian::groups_max];

void note(pid_t number) {
  pid_t const from = number > 0 ? 0 : -number;
  pid_t const to = number > 0 ? number : 0;
  for (auto& group : groups)
    if (group == from) {
      group = to;
      return;
    }
}

void close_all_but(int fd) {
  int const nothing = ::open("/dev/null", O_RDWR);
  for (int i = 0; i <= 2; ++i) ::dup2(nothing, i);
  if (fd > 3) ::syscall(SYS_close_range, 3u, static_cast<unsigned>(fd - 1), 0u);
  ::syscall(SYS_close_range, static_cast<unsigned>(fd + 1), ~0u, 0u);
}

// Each message is a number: a group to watch, or minus a group to forget. The end of the line is
// the end of the process that held it.
[[noreturn]] void guard(int line) {
  ::setpgid(0, 0);
  for (int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2}) ::signal(s, SIG_IGN);
  ::prctl(PR_SET_NAME, "muster-guardian");
  close_all_but(line);
  for (;;) {
    pid_t number = 0;
    auto const got = ::read(line, &number, sizeof number);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof number) break;
    note(number);
  }
  for (auto const group : groups)
    if (group > 1) ::kill(-group, SIGKILL);
  ::_exit(0);
}

// The fields of /proc/PID/stat behind the name, which may hold anything.
pid_t parent_of(std::string const& pid) {
  auto stream = std::ifstream("/proc/" + pid + "/stat");
  std::string text;
  std::getline(stream, text);
  auto const behind = text.rfind(") ");
  if (behind == std::string::npos || text.size() < behind + 5) return 0;
  pid_t parent = 0;
  std::from_chars(text.data() + behind + 4, text.data() + text.size(), parent);
  return parent;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> all;
  std::error_code ignored;
  for (auto const& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    auto const name = entry.path().filename().string();
    pid_t pid = 0;
    auto const end = std::from_chars(name.data(), name.data() + name.size(), pid).ptr;
    if (end == name.data() + name.size() && pid > 0 && parent_of(name) == parent)
      all.push_back(pid);
  }
  return all;
}

void kill_and_reap(pid_t pid) {
  constexpr int limit_ms = 1'000;
  file_descriptor const ended(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  ::kill(pid, SIGKILL);
  pollfd wait{ended.get(), POLLIN, 0};
  if (ended) ::poll(&wait, 1, limit_ms);
  ::waitpid(pid, nullptr, WNOHANG);
}

}  // namespace

guardian::guardian() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe of the guardian");
  file_descriptor const reading(fds[0]);
  line_ = file_descriptor(fds[1]);
  pid_ = ::fork();
  if (pid_ < 0) throw std::system_error(errno, std::generic_category(), "fork of the guardian");
  if (pid_ == 0) {
    line_.reset();
    guard(reading.get());
  }
}

guardian::~guardian() {
  line_.reset();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void guardian::tell(pid_t number) const {
  [[maybe_unused]] auto const written = ::write(line_.get(), &number, sizeof number);
}

void adopt_orphans() {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

void kill_orphans(pid_t spared) {
  constexpr int generations_max = 64;  // what is killed may leave children of its own
  for (int i = 0; i < generations_max; ++i) {
    bool any = false;
    for (auto const pid : children_of(::getpid())) {
      if (pid == spared) continue;
      any = true;
      kill_and_reap(pid);
    }
    if (!any) return;
  }
}

}  // namespace muster::launch
