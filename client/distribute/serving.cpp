// A signal handler must not acquire locks, but stopping a server can acquire locks. The handler
// therefore writes to an eventfd that a thread reads.
#include "client/distribute/serving.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>

namespace muster::distribute {
namespace {

constexpr std::uint64_t one_signal = 1, over = std::uint64_t{1} << 32;

std::atomic<int> signals{-1};  // eventfd of the thread that handles SIGTERM

void on_signal(int) {
  int const error = errno;
  [[maybe_unused]] auto const written = ::write(signals.load(), &one_signal, sizeof one_signal);
  errno = error;
}

class stopping {
 public:
  explicit stopping(standard_server& server) : server_(server) {
    struct sigaction now {};
    ::sigaction(SIGTERM, nullptr, &now);
    if (now.sa_handler != SIG_DFL) return;
    int const fd = ::eventfd(0, EFD_CLOEXEC);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
    int none = -1;
    if (!signals.compare_exchange_strong(none, fd)) {
      ::close(fd);
      return;
    }
    fd_ = fd;
    thread_ = std::thread([this] { run(); });
    now = {};
    now.sa_handler = on_signal;
    now.sa_flags = SA_RESTART;
    ::sigaction(SIGTERM, &now, nullptr);
  }
  ~stopping() {
    if (fd_ < 0) return;
    ::signal(SIGTERM, SIG_DFL);
    [[maybe_unused]] auto const written = ::write(fd_, &over, sizeof over);
    thread_.join();
    signals = -1;
    ::close(fd_);
  }
  stopping(stopping const&) = delete;

 private:
  // Reads signals, without a deadline, until the server has ended.
  void run() {
    std::uint64_t count = 0;
    while (::read(fd_, &count, sizeof count) == sizeof count || errno == EINTR) {
      for (auto n = count % over; n > 0; --n) server_.stop();
      if (count >= over) return;
      count = 0;
    }
  }

  standard_server& server_;
  int fd_ = -1;
  std::thread thread_;
};

}  // namespace

void serve_until_end(standard_server& server) {
  stopping const on_sigterm(server);
  server.join();
}

}  // namespace muster::distribute
