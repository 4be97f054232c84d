#include "launch/reaper.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <utility>

namespace muster::launch {

reaper::reaper(boost::asio::io_context& io, std::function<void(pid_t, int)> ended)
    : children_(io, SIGCHLD), ended_(std::move(ended)) {}

void reaper::start() {
  children_.async_wait([this](boost::system::error_code error, int) {
    if (error) return;
    reap();
    start();
  });
}

void reaper::reap() {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    auto const pid = info.si_pid;
    int const raw = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status & 0x7f;
    ended_(pid, raw);
    ::waitpid(pid, nullptr, 0);
  }
}

}  // namespace muster::launch
