#include "process/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace muster::launch {
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

file_descriptor open_nothing() {
  int const fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(errno, "/dev/null");
  return file_descriptor(fd);
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (auto& t : texts) all.push_back(t.data());
  all.push_back(nullptr);
  return all;
}

void signals_as_new() {
  for (int s = 1; s < NSIG; ++s) {
    struct sigaction now {};
    if (::sigaction(s, nullptr, &now) != 0) continue;
    if ((s == SIGINT || s == SIGHUP) && now.sa_handler == SIG_IGN) continue;
    now = {};
    now.sa_handler = SIG_DFL;
    ::sigaction(s, &now, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

struct prepared {
  char** argv;
  char** environment;
  int in, out, err;
  int failure;  // gets errno
  pid_t parent;
};

// Between fork and exec: no allocation, no lock, since another thread may have held one.
[[noreturn]] void become(prepared const& p) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != p.parent) ::_exit(127);  // it died before prctl
  signals_as_new();
  if (::dup2(p.in, 0) >= 0 && ::dup2(p.out, 1) >= 0 && ::dup2(p.err, 2) >= 0)
    ::execvpe(p.argv[0], p.argv, p.environment);
  int const error = errno;
  [[maybe_unused]] auto const written = ::write(p.failure, &error, sizeof error);
  ::_exit(127);
}

// 0: the program runs.
int exec_error(file_descriptor const& failure) {
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(failure.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

}  // namespace

child start_child(child_options const& o) {
  auto argv = o.argv;
  std::vector<std::string> entries;
  for (auto const& [name, value] : o.environment) entries.push_back(name + "=" + value);
  auto const in = open_nothing();
  auto out = make_pipe();
  auto err = make_pipe();
  auto failure = make_pipe();
  auto const arguments = pointers(argv);
  auto const environment = pointers(entries);
  prepared const ready{const_cast<char**>(arguments.data()),
                       const_cast<char**>(environment.data()),
                       in.get(),
                       out.writing.get(),
                       err.writing.get(),
                       failure.writing.get(),
                       ::getpid()};
  pid_t const pid = ::fork();
  if (pid < 0) fail(errno, "fork");
  if (pid == 0) become(ready);
  ::setpgid(pid, pid);  // whoever comes first: a signal to the group must not come too early
  failure.writing.reset();
  if (int const error = exec_error(failure.reading); error != 0) {
    ::waitpid(pid, nullptr, 0);
    fail(error, o.argv[0]);
  }
  for (auto* fd : {&out.reading, &err.reading}) ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
  return {pid, std::move(out.reading), std::move(err.reading)};
}

int status_of_start_error(int error) {
  return error == ENOENT || error == ENOTDIR ? 127 : 126;
}

}  // namespace muster::launch
