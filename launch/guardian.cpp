// Both sides are subreapers: an orphan comes to the nearest of them that lives. The launcher has a
// process group of its own, so that who kills the job of a shell does not kill both.
#include "launch/guardian.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "launch/ending.hpp"

namespace muster::launch {
namespace {

// The fields of /proc/PID/stat behind the name, which may hold anything; the first is the third of
// proc(5).
std::istringstream fields_of(std::string const& pid) {
  auto stream = std::ifstream("/proc/" + pid + "/stat");
  std::string text;
  std::getline(stream, text);
  auto const behind = text.rfind(") ");
  return std::istringstream(behind == std::string::npos ? std::string() : text.substr(behind + 2));
}

pid_t parent_of(std::string const& pid) {
  auto fields = fields_of(pid);
  char state = 0;
  pid_t parent = 0;
  fields >> state >> parent;
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

// Processes are often killed by name or by words of their command line (pkill -9 -f "muster run"):
// these shall find the guardian alone.
void take_name(char const* name) {
  ::prctl(PR_SET_NAME, name);
  constexpr int fields_before_arguments = 45;  // of proc(5)'s 48th, which begins them
  auto fields = fields_of("self");
  std::string skipped;
  for (int i = 0; i < fields_before_arguments; ++i) fields >> skipped;
  std::uintptr_t begin = 0, end = 0;
  fields >> begin >> end;
  if (begin == 0 || end <= begin + std::strlen(name)) return;
  std::memset(reinterpret_cast<void*>(begin), 0, end - begin);
  std::memcpy(reinterpret_cast<void*>(begin), name, std::strlen(name));
}

sigset_t set_of(std::initializer_list<int> numbers) {
  sigset_t all;
  sigemptyset(&all);
  for (int const n : numbers) sigaddset(&all, n);
  return all;
}

// What was ignored at the start stays so: nohup, background jobs of a shell.
sigset_t heard_by_guardian() {
  auto all = set_of({SIGCHLD, SIGTERM, SIGUSR1, SIGUSR2});
  for (int const n : {SIGINT, SIGHUP, SIGTSTP}) {
    struct sigaction now {};
    ::sigaction(n, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&all, n);
  }
  return all;
}

// The launcher hears of signals by the guardian alone: sent to both, as to all processes of a
// service, they would count twice. A terminal that holds up who writes in the background is not to.
void become_launcher() {
  ::setpgid(0, 0);
  take_name("task-launcher");
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);  // stopped, it would not see the end of the line
  auto const blocked = set_of({SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTTOU});
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
}

// Suspends both, as a shell's Ctrl-Z.
void suspend(pid_t launcher) {
  ::kill(launcher, SIGSTOP);
  ::raise(SIGSTOP);
  ::kill(launcher, SIGCONT);
}

std::optional<int> reap(pid_t launcher) {
  std::optional<int> raw;
  int now = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &now, WNOHANG)) > 0;)
    if (pid == launcher) raw = now;
  return raw;
}

bool is_set(file_descriptor const& event) {
  pollfd look{event.get(), POLLIN, 0};
  return ::poll(&look, 1, 0) > 0;
}

// What wait() says of the launcher. A run takes as long as it takes: there is no deadline.
int await_end(pid_t launcher, file_descriptor const& line, file_descriptor const& begun,
              sigset_t const& heard) {
  for (int stops = 0;;) {
    int const number = ::sigwaitinfo(&heard, nullptr);
    if (number == SIGTSTP) {
      suspend(launcher);
    } else if (number == SIGCHLD) {
      if (auto const raw = reap(launcher)) return *raw;
    } else if (number > 0) {
      bool const stop = number != SIGUSR1 && number != SIGUSR2;
      if (stop && ++stops > 1 && !is_set(begun)) ::kill(launcher, SIGKILL);
      auto const word = static_cast<char>(number);
      [[maybe_unused]] auto const written = ::write(line.get(), &word, 1);
    }
  }
}

}  // namespace

side split(char const* verb) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe of the guardian");
  file_descriptor reading(fds[0]), writing(fds[1]);
  auto begun = opened(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd of the launcher");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // not inherited by a child
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  // Of whoever has become this program: sh -c 'exporter & exec muster run …'.
  auto const spared = children_of(::getpid());
  auto const heard = heard_by_guardian();
  ::sigprocmask(SIG_BLOCK, &heard, nullptr);
  pid_t const launcher = ::fork();
  if (launcher < 0) throw std::system_error(errno, std::generic_category(), "fork of the launcher");
  if (launcher == 0) {
    writing.reset();
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    become_launcher();
    return {.line = std::move(reading), .begun = std::move(begun)};
  }
  reading.reset();
  ending e;
  set_status(e, await_end(launcher, writing, begun, heard));
  kill_orphans(spared);
  if (e.signal != 0)
    std::cerr << verb << ": its launcher ended with " << describe(e)
              << "; what it had started was killed\n";
  return {.over = e.status};
}

void kill_orphans(std::vector<pid_t> const& spared) {
  constexpr int generations_max = 64;  // what is killed may leave children of its own
  for (int i = 0; i < generations_max; ++i) {
    auto orphans = children_of(::getpid());
    std::erase_if(orphans,
                  [&](pid_t p) { return std::count(spared.begin(), spared.end(), p) > 0; });
    if (orphans.empty()) return;
    for (auto const pid : orphans) kill_and_reap(pid);
  }
}

}  // namespace muster::launch
