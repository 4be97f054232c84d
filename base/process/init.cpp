#include "base/process/init.hpp"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

namespace muster {
namespace {

// A container's supervisor sets these variables for the process that it started.
void take_over_environment() {
  for (auto const* name : {"LISTEN_PID", "WATCHDOG_PID"})
    if (auto const* pid = ::getenv(name); pid && std::strcmp(pid, "1") == 0)
      ::setenv(name, std::to_string(::getpid()).c_str(), 1);
}

std::optional<int> reap(pid_t program) {
  std::optional<int> ended;
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (pid == program) ended = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return ended;
}

int serve(pid_t program, sigset_t const& signals) {
  for (;;) {
    siginfo_t info{};
    int const number = ::sigwaitinfo(&signals, &info);
    if (number == SIGCHLD) {
      if (auto const status = reap(program)) return *status;
    } else if (number > 0 && info.si_code != SI_KERNEL) {
      ::kill(program, number);
    }
  }
}

}  // namespace

std::optional<int> run_as_init() {
  if (::getpid() != 1) return {};
  sigset_t signals, before;
  sigfillset(&signals);
  for (int const fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    sigdelset(&signals, fault);
  ::sigprocmask(SIG_BLOCK, &signals, &before);
  ::signal(SIGCHLD, SIG_DFL);  // exits of children are not reported while the signal is ignored
  pid_t const program = ::fork();
  if (program < 0) throw std::system_error(errno, std::generic_category(), "fork");
  if (program > 0) return serve(program, signals);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  take_over_environment();
  return {};
}

}  // namespace muster
