// Uses vfork and exec. fork would need 58 ms to copy the page tables of a worker that uses a
// gigabyte, and posix_spawn cannot make the child die with its parent.
#include "base/process/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace muster {
namespace {

[[noreturn]] void fail(int error, std::string const& what) {
  throw std::system_error(error, std::generic_category(), what);
}

struct pipe_ends {
  file_descriptor reading, writing;
};

pipe_ends make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) fail(errno, "pipe");
  return {file_descriptor(fds[0]), file_descriptor(fds[1])};
}

void reject_nul(std::string const& text) {
  if (text.find('\0') != text.npos)
    throw std::invalid_argument("argv, env or cwd contains a NUL byte");
}

void check(child_options const& o) {
  if (o.argv.empty()) throw std::invalid_argument("argv is empty");
  for (auto const& a : o.argv) reject_nul(a);
  reject_nul(o.cwd);
}

std::vector<std::string> entries_of(environment_map const& environment) {
  std::vector<std::string> all;
  for (auto const& [name, value] : environment) {
    if (name.empty() || name.find('=') != name.npos)
      throw std::invalid_argument("'" + name + "' is not a valid environment variable name");
    all.push_back(name + "=" + value);
    reject_nul(all.back());
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& t : texts) all.push_back(t.data());
  all.push_back(nullptr);
  return all;
}

struct prepared {
  child_options const& options;
  char* const* argv;
  char* const* environment;
  int in, out, err;
  int failure;
  pid_t parent;
};

void signals_as_new(bool keep_ignored) {
  for (int s = 1; s < NSIG; ++s) {
    struct sigaction now {};
    if (::sigaction(s, nullptr, &now) != 0) continue;
    if (keep_ignored && (s == SIGINT || s == SIGHUP) && now.sa_handler == SIG_IGN) continue;
    now = {};
    now.sa_handler = SIG_DFL;
    ::sigaction(s, &now, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The C library's functions would change all threads of the parent.
bool take_user(process_user const& u) {
  return ::syscall(SYS_setgroups, u.groups.size(), u.groups.data()) == 0 &&
         ::syscall(SYS_setresgid, u.group, u.group, u.group) == 0 &&
         ::syscall(SYS_setresuid, u.user, u.user, u.user) == 0;
}

// Runs in the parent's memory until exec. Must not allocate, lock, or make a lasting change to this
// memory.
[[noreturn]] void become(prepared const& p) {
  ::setpgid(0, 0);
  bool const is_user = !p.options.user || take_user(*p.options.user);
  if (p.options.dies_with_thread) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != p.parent) ::_exit(127);  // the parent died before prctl
  }
  signals_as_new(p.options.keeps_ignored_signals);
  bool const there = is_user && (p.options.cwd.empty() || ::chdir(p.options.cwd.c_str()) == 0);
  if (there && ::dup2(p.in, 0) >= 0 && ::dup2(p.out, 1) >= 0 && ::dup2(p.err, 2) >= 0)
    ::execvpe(p.argv[0], p.argv, p.environment);
  int const error = errno;
  [[maybe_unused]] auto const written = ::write(p.failure, &error, sizeof error);
  ::_exit(127);
}

// Signals are blocked until the child has its own handlers. Otherwise the suspended parent's
// handlers would run in the child, on the parent's memory.
pid_t start(prepared const& p) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t const pid = ::vfork();
  if (pid == 0) become(p);
  int const error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) fail(error, "vfork");
  return pid;
}

int exec_error(file_descriptor const& failure) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

}  // namespace

environment_map current_environment() {
  environment_map all;
  for (char** e = environ; *e; ++e) {
    std::string const entry = *e;
    auto const equals = entry.find('=');
    if (equals != entry.npos) all[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return all;
}

child start_child(child_options const& o) {
  check(o);
  auto argv = o.argv;
  auto entries = entries_of(o.environment);
  auto const nothing =
      o.in < 0 ? opened(::open("/dev/null", O_RDONLY | O_CLOEXEC), "/dev/null") : file_descriptor();
  auto out = make_pipe();
  auto err = make_pipe();
  auto failure = make_pipe();
  auto const arguments = pointers(argv);
  auto const environment = pointers(entries);
  pid_t const pid =
      start({o, arguments.data(), environment.data(), o.in < 0 ? nothing.get() : o.in,
             out.writing.get(), err.writing.get(), failure.writing.get(), ::getpid()});
  failure.writing.reset();
  if (int const error = exec_error(failure.reading); error != 0) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    fail(error, o.argv[0]);
  }
  for (auto* fd : {&out.reading, &err.reading}) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  return {pid, std::move(out.reading), std::move(err.reading)};
}

int status_of_start_error(int error) {
  return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

std::string signal_name(int number) {
  auto const* const name = ::sigabbrev_np(number);
  return name ? std::string("SIG") + name : "signal " + std::to_string(number);
}

}  // namespace muster
