// Both processes are subreapers: the nearest live subreaper adopts an orphan. The launcher has its
// own process group, so that killing the shell's job does not kill both.
#include "launch/supervision.hpp"

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

// Returns the fields of /proc/PID/stat after the name, because the name can contain anything. The
// first returned field is field 3 in proc(5).
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

// Changes the name and command line of this process, so that a kill by name (pkill -9 -f "muster
// run") affects only the supervisor.
void set_process_name(char const* name) {
  ::prctl(PR_SET_NAME, name);
  constexpr int fields_before_arguments = 45;  // the arguments start at field 48; see proc(5)
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

// Signals that were ignored at the start stay ignored (nohup, background jobs of a shell).
sigset_t signals_of_supervisor() {
  auto all = set_of({SIGCHLD, SIGTERM, SIGUSR1, SIGUSR2});
  for (int const n : {SIGINT, SIGHUP, SIGTSTP}) {
    struct sigaction now {};
    ::sigaction(n, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&all, n);
  }
  return all;
}

// The launcher receives signals only through the supervisor. Otherwise, a signal to all processes
// of a service would count twice. SIGTTOU is blocked so that a terminal does not stop background
// output.
void become_launcher() {
  ::setpgid(0, 0);
  set_process_name("task-launcher");
  // Wakes a stopped launcher, which could not detect the end of `line` otherwise.
  ::prctl(PR_SET_PDEATHSIG, SIGCONT);
  auto const blocked = set_of({SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTTOU});
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
}

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

// Waits without a deadline, because a run can take any time.
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

split_result split(char const* verb) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::system_error(errno, std::generic_category(), "pipe of the supervisor");
  file_descriptor reading(fds[0]), writing(fds[1]);
  auto begun = opened(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd of the launcher");
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // needed because a child does not inherit this setting
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  // Spares children that existed before this program was executed, as in sh -c 'exporter & exec
  // muster run …'.
  auto const spared = children_of(::getpid());
  auto const heard = signals_of_supervisor();
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
    std::cerr << verb << ": its launcher was killed by " << describe(e)
              << "; all processes that it had started were killed\n";
  return {.over = e.status};
}

void kill_orphans(std::vector<pid_t> const& spared) {
  // Maximum number of rounds. Several rounds can be needed, because killed processes can leave
  // children.
  constexpr int generations_max = 64;
  for (int i = 0; i < generations_max; ++i) {
    auto orphans = children_of(::getpid());
    std::erase_if(orphans,
                  [&](pid_t p) { return std::count(spared.begin(), spared.end(), p) > 0; });
    if (orphans.empty()) return;
    for (auto const pid : orphans) kill_and_reap(pid);
  }
}

}  // namespace muster::launch
