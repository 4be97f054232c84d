#include "app/supervisor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <system_error>

#include "app/logging.hpp"
#include "app/process_setup.hpp"
#include "base/process/child.hpp"
#include "base/process/file_descriptor.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto marker = "MUSTER_SUPERVISOR_PID";
constexpr int first_socket = 3;
/// Maximum number of kept sockets. Above this limit, the next start opens new sockets.
constexpr std::size_t sockets_max = 4'096;
constexpr auto pause_max = 30s;
constexpr auto lived_well = 60s;

int checked(int result, char const* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

void say(std::string const& line) {
  write_log_line(spdlog::level::warn, "supervisor: " + line);
}

std::string program() {
  char path[4'096];
  auto const size = ::readlink("/proc/self/exe", path, sizeof path);
  return {path, static_cast<std::size_t>(checked(static_cast<int>(size), "/proc/self/exe"))};
}

class notices {
 public:
  notices() {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    address_ = "@muster-" + std::to_string(::getpid()) + "-" + std::to_string(random_64());
    std::memcpy(at.sun_path, address_.data(), address_.size());
    at.sun_path[0] = '\0';
    auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
    checked(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&at), size), "notify socket");
    int const yes = 1;
    checked(::setsockopt(fd_.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes), "SO_PASSCRED");
  }
  int fd() const { return fd_.get(); }
  std::string const& address() const { return address_; }
  std::map<std::string, file_descriptor> const& sockets() const { return sockets_; }

  /// Handles pending messages of process `from` only, because any process can write to the address.
  void take(pid_t from, bool& ready) {
    char text[1'024];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(ucred))];
    for (;;) {
      iovec part{text, sizeof text};
      msghdr message{};
      message.msg_iov = &part, message.msg_iovlen = 1;
      message.msg_control = control, message.msg_controllen = sizeof control;
      auto const size = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
      if (size < 0) return;
      file_descriptor socket;
      pid_t sender = 0;
      for (auto* h = CMSG_FIRSTHDR(&message); h != nullptr; h = CMSG_NXTHDR(&message, h)) {
        if (h->cmsg_level != SOL_SOCKET) continue;
        int fd = -1;
        if (h->cmsg_type == SCM_RIGHTS) std::memcpy(&fd, CMSG_DATA(h), sizeof fd);
        if (fd >= 0) socket = file_descriptor(fd);
        ucred who{};
        if (h->cmsg_type == SCM_CREDENTIALS) std::memcpy(&who, CMSG_DATA(h), sizeof who);
        if (who.pid != 0) sender = who.pid;
      }
      if (sender == from) heard({text, static_cast<std::size_t>(size)}, std::move(socket), ready);
    }
  }

 private:
  void heard(std::string_view text, file_descriptor socket, bool& ready) {
    if (text == "READY=1") ready = true;
    constexpr std::string_view label = "\nFDNAME=";
    auto const at = text.find(label);
    if (at == std::string_view::npos) return;
    auto const name = std::string(text.substr(at + label.size()));
    if (text.starts_with("FDSTOREREMOVE=1")) sockets_.erase(name);
    if (!text.starts_with("FDSTORE=1") || socket.get() < 0) return;
    if (sockets_.size() < sockets_max || sockets_.contains(name))
      sockets_.insert_or_assign(name, std::move(socket));
  }

  file_descriptor fd_{checked(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), "notify socket")};
  std::string address_;
  std::map<std::string, file_descriptor> sockets_;
};

class supervisor {
 public:
  explicit supervisor(std::vector<std::string> const& arguments)
      : program_(program()), arguments_(arguments) {
    sigset_t set;
    sigemptyset(&set);
    for (int const s : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&set, s);
    ::sigprocmask(SIG_BLOCK, &set, &signals_before_);
    signals_ =
        file_descriptor(checked(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd"));
  }

  int run() {
    for (;;) {
      auto const begun = clock::now();
      start();
      auto const status = wait_for_end();
      // If the server never became ready, a restart would fail again, unless SIGHUP ended the
      // server.
      bool const never_ready = !ever_ready_ && !restart_;
      bool const over = stopping_ || never_ready || (WIFEXITED(status) && WEXITSTATUS(status) == 0);
      if (over) return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      if (clock::now() - begun >= lived_well) pause_ = 0ms;
      tell(status);
      if (wait(pause_)) return 0;
      pause_ = std::min<std::chrono::milliseconds>(pause_max, pause_ == 0ms ? 100ms : pause_ * 2);
      restart_ = false;
    }
  }

 private:
  void start() {
    server_ = checked(::fork(), "fork");
    if (server_ == 0) become_server();
    ready_ = false;
  }

  [[noreturn]] void become_server() {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent_) ::_exit(0);  // the parent died before prctl
    ::setpgid(0, 0);                         // only the parent receives Ctrl-C and forwards it once
    ::sigprocmask(SIG_SETMASK, &signals_before_, nullptr);
    std::vector<int> given;  // duplicates whose numbers are above the target numbers
    std::string names;
    auto const& sockets = notices_.sockets();
    int const beyond = first_socket + static_cast<int>(sockets.size());
    for (auto const& [name, socket] : sockets) {
      given.push_back(::fcntl(socket.get(), F_DUPFD_CLOEXEC, beyond));
      names += (names.empty() ? "" : ":") + name;
    }
    for (std::size_t i = 0; i < given.size(); ++i)
      ::dup2(given[i], first_socket + static_cast<int>(i));
    auto const set = [](char const* name, std::string const& value) {
      ::setenv(name, value.c_str(), 1);
    };
    set("LISTEN_PID", std::to_string(::getpid()));
    set("LISTEN_FDS", std::to_string(given.size()));
    set("LISTEN_FDNAMES", names);
    set("NOTIFY_SOCKET", notices_.address());
    set("FDSTORE", std::to_string(sockets_max));
    set(marker, std::to_string(::getppid()));
    std::vector<char*> argv{const_cast<char*>(program_.c_str())};
    for (auto const& a : arguments_) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    ::execv(program_.c_str(), argv.data());
    std::perror(program_.c_str());
    ::_exit(127);
  }

  // No deadline: a server runs indefinitely, and stopping has its own limit (--stop-timeout).
  int wait_for_end() {
    for (;;) {
      int status = 0;
      wait(1h);
      if (::waitpid(server_, &status, WNOHANG) != server_) continue;
      notices_.take(server_, ready_);
      ever_ready_ = ever_ready_ || ready_;
      server_ = 0;
      return status;
    }
  }

  // Returns whether to stop.
  bool wait(std::chrono::milliseconds limit) {
    auto const end = clock::now() + limit;
    bool happened = false;
    while (!happened && !stopping_) {
      auto const left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
      if (left <= 0ms) break;
      pollfd both[] = {{signals_.get(), POLLIN, 0}, {notices_.fd(), POLLIN, 0}};
      ::poll(both, 2, static_cast<int>(left.count()));
      if (both[1].revents != 0) notices_.take(server_, ready_);
      ever_ready_ = ever_ready_ || ready_;
      signalfd_siginfo info{};
      while (::read(signals_.get(), &info, sizeof info) == sizeof info)
        happened = act(static_cast<int>(info.ssi_signo)) || happened;
    }
    // After a stop signal, waits only for the server to exit.
    if (stopping_ && !happened && server_ != 0) {
      pollfd one{signals_.get(), POLLIN, 0};
      ::poll(&one, 1, 1'000);
      signalfd_siginfo info{};
      while (::read(signals_.get(), &info, sizeof info) == sizeof info)
        act(static_cast<int>(info.ssi_signo));
    }
    return stopping_;
  }

  bool act(int signal) {
    if (signal == SIGTERM || signal == SIGINT) {
      stopping_ = true;
      if (server_ != 0) ::kill(server_, signal);
    } else if (signal == SIGHUP && server_ != 0) {
      restart_ = true;
      ::kill(server_, SIGKILL);
    }
    return signal == SIGCHLD || signal == SIGHUP;
  }

  void tell(int status) const {
    auto const how = WIFEXITED(status) ? "exited with status " + std::to_string(WEXITSTATUS(status))
                                       : "was killed by " + signal_name(WTERMSIG(status));
    auto const when = pause_ == 0ms ? "now" : "in " + std::to_string(pause_.count()) + " ms";
    say("the server " + (restart_ ? "was stopped for a restart" : how) + "; starting it again " +
        when);
  }

  std::string const program_;
  std::vector<std::string> const arguments_;
  notices notices_;
  sigset_t signals_before_{};
  file_descriptor signals_;
  pid_t const parent_ = ::getpid();
  pid_t server_ = 0;
  bool ready_ = false, ever_ready_ = false, stopping_ = false, restart_ = false;
  std::chrono::milliseconds pause_{0};
};

}  // namespace

bool is_supervised() {
  auto const* pid = std::getenv(marker);
  return pid != nullptr && pid == std::to_string(::getppid());
}

int supervise(std::vector<std::string> const& arguments) {
  return supervisor(arguments).run();
}

}  // namespace muster::server
