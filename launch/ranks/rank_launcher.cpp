#include "launch/ranks/rank_launcher.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "launch/ranks/fork_plan.hpp"
#include "launch/ranks/fork_server.hpp"
#include "launch/ranks/rank_set.hpp"
#include "launch/reaper.hpp"
#include "launch/supervisor_pipe.hpp"

namespace muster::launch {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t order_bytes_max = std::size_t{64} << 20;
constexpr std::chrono::seconds kill_patience{30};

// Prevents ranks from inheriting the pipe, because the worker waits until all writers have closed
// it.
file_descriptor own(int fd) {
  return opened(::fcntl(fd, F_DUPFD_CLOEXEC, 3), "the worker's line");
}

class rank_launcher {
 public:
  explicit rank_launcher(split_result here)
      : children_(io_,
                  [this](pid_t pid, int raw) {
                    if (forks_) forks_->ended(pid);
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
  void read() {
    orders_.async_read_some(asio::buffer(buffer_), [this](error_code error, std::size_t n) {
      if (error == asio::error::operation_aborted) return;
      if (error) return kill(false);
      lines_.add({buffer_.data(), n});
      read();
    });
  }

  void take(std::string_view line) {
    try {
      auto order = parse_order(line, current_environment());
      if (order.lease_until) keep_until(*order.lease_until);
      if (order.start && !ranks_)
        start(std::move(*order.start));
      else if (order.start && keeps_fork_server_)
        next_ = std::move(order.start);
      if (order.stop) stop(*order.stop);
    } catch (std::exception const& e) {
      fail(e);
    }
  }

  void fail(std::exception const& e) {
    std::cerr << "an order to ranks is invalid: " << e.what() << '\n';
    if (ranks_) return;
    status_ = 2;
    io_.stop();
  }

  void stop(stop_order const& order) {
    if (next_)
      next_stops_.push_back(order);
    else if (ranks_)
      ranks_->stop(order);
  }

  void start(start_order order) {
    auto const forks = plan_forks(order);
    keeps_fork_server_ = !order.preload.empty();
    if (forks && (!forks_ || forks_->was_killed() || forks_->plan() != *forks)) {
      asio::post(io_, [old = forks_] {});  // pending callbacks of the fork server run first
      forks_ = std::make_shared<fork_server>(io_, *forks);
    }
    ranks_ = std::make_unique<rank_set>(
        io_, std::move(order),
        rank_set::callbacks{
            [this](auto rank, auto pid, auto& why) { reports_.started(rank, pid, why); },
            [this](rank_end const& end) { reports_.ended(end); },
            [this] { asio::post(io_, [this] { over(); }); }},
        forks ? forks_.get() : nullptr);
  }

  // Called when all processes of the ranks have exited and all reports are queued.
  void over() {
    if (!keeps_fork_server_) return reports_.finish([this] { io_.stop(); });
    ranks_.reset();
    if (!next_) return;
    try {
      start(*std::exchange(next_, {}));
    } catch (std::exception const& e) {
      return fail(e);
    }
    for (auto const& order : std::exchange(next_stops_, {})) ranks_->stop(order);
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

  // Handles the end of the worker, its lease or the supervisor. Processes that survive SIGKILL, for
  // example because they wait for a lost disk, are abandoned after a while.
  void kill(bool lease_ran_out) {
    keeps_fork_server_ = false;
    if (!ranks_) return io_.stop();
    ranks_->kill(lease_ran_out);
    patience_.expires_after(kill_patience);
    patience_.async_wait([this](error_code error) {
      if (!error) io_.stop();
    });
  }

  asio::io_context io_{1};
  reaper children_;
  supervisor_pipe guardian_;
  file_descriptor begun_;
  asio::posix::stream_descriptor orders_;
  line_splitter lines_;
  std::array<char, std::size_t{64} << 10> buffer_;
  report_line reports_;
  asio::steady_timer lease_, patience_;
  std::shared_ptr<fork_server> forks_;
  std::unique_ptr<rank_set> ranks_;  // set from the start order until all processes have exited
  // Start order that waits for the previous processes to exit, with its stop orders.
  std::optional<start_order> next_;
  std::vector<stop_order> next_stops_;
  bool keeps_fork_server_ = false;
  int status_ = 0;
};

}  // namespace

int run_ranks(split_result launcher) {
  return rank_launcher(std::move(launcher)).run();
}

}  // namespace muster::launch
