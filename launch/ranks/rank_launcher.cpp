// Lines of orders come in, lines of reports go out; in between stands the set of ranks.
#include "launch/ranks/rank_launcher.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <iostream>
#include <memory>

#include "launch/guardian_line.hpp"
#include "launch/ranks/rank_set.hpp"
#include "launch/reaper.hpp"

namespace muster::launch {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t order_bytes_max = std::size_t{64} << 20;
constexpr std::chrono::seconds kill_patience{30};

// That no rank inherits: who holds the line of reports keeps the worker waiting for its end.
file_descriptor own(int fd) {
  return opened(::fcntl(fd, F_DUPFD_CLOEXEC, 3), "the worker's line");
}

class rank_launcher {
 public:
  explicit rank_launcher(side here)
      : children_(io_,
                  [this](pid_t pid, int raw) {
                    if (ranks_) ranks_->ended(pid, raw);
                  }),
        guardian_(io_, std::move(here.line),
                  {[this](int signal) { on_signal(signal); }, [this] { kill(false); }}),
        begun_(std::move(here.begun)),
        orders_(io_, own(STDIN_FILENO).release()),
        lines_([this](std::string_view line) { take(line); }, order_bytes_max),
        reports_(io_, own(STDOUT_FILENO)),
        lease_(io_),
        patience_(io_) {}

  int run() {
    guardian_.listen();
    ::eventfd_write(begun_.get(), 1);
    children_.start();
    read();
    io_.run();
    return status_;
  }

 private:
  // Until the worker is gone: there is no deadline.
  void read() {
    orders_.async_read_some(asio::buffer(buffer_), [this](error_code error, std::size_t n) {
      if (error == asio::error::operation_aborted) return;
      if (error) return ranks_ ? kill(false) : io_.stop();
      lines_.add({buffer_.data(), n});
      read();
    });
  }

  void take(std::string_view line) {
    try {
      auto order = parse_order(line, current_environment());
      if (order.start && !ranks_) start(std::move(*order.start));
      if (order.stop && ranks_) ranks_->stop(*order.stop);
      if (order.lease_until) keep_until(*order.lease_until);
    } catch (std::exception const& e) {
      std::cerr << "an order to ranks makes no sense: " << e.what() << '\n';
      if (ranks_) return;
      status_ = 2;
      io_.stop();
    }
  }

  void start(start_order order) {
    ranks_ = std::make_unique<rank_set>(
        io_, std::move(order),
        rank_set::callbacks{[this](std::uint32_t rank, pid_t pid) { reports_.started(rank, pid); },
                            [this](rank_end const& end) { reports_.ended(end); },
                            [this] { reports_.finish([this] { io_.stop(); }); }});
  }

  void keep_until(std::chrono::steady_clock::time_point until) {
    lease_.expires_at(until);
    lease_.async_wait([this](error_code error) {
      if (!error) kill(true);
    });
  }

  void on_signal(int number) {
    if (number != SIGUSR1 && number != SIGUSR2 && ranks_) ranks_->stop(number);
  }

  // The worker, its lease or the guardian is gone. What ignores SIGKILL, as who waits for a disk
  // that is gone, is left to the kernel after a while.
  void kill(bool lease_ran_out) {
    if (ranks_) ranks_->kill(lease_ran_out);
    patience_.expires_after(kill_patience);
    patience_.async_wait([this](error_code error) {
      if (!error) io_.stop();
    });
  }

  asio::io_context io_{1};
  reaper children_;
  guardian_line guardian_;
  file_descriptor begun_;
  asio::posix::stream_descriptor orders_;
  line_splitter lines_;
  std::array<char, std::size_t{64} << 10> buffer_;
  report_line reports_;
  asio::steady_timer lease_, patience_;
  std::unique_ptr<rank_set> ranks_;  // from the order to start on
  int status_ = 0;
};

}  // namespace

int run_ranks(side launcher) {
  return rank_launcher(std::move(launcher)).run();
}

}  // namespace muster::launch
