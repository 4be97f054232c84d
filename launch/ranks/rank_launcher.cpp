// Starts, reaps and stops ranks. The last one is only said to have ended when nothing that any of
// them started is left.
#include "launch/ranks/rank_launcher.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <system_error>

#include "launch/ending.hpp"
#include "launch/guardian_line.hpp"
#include "launch/ranks/rank_orders.hpp"
#include "launch/ranks/report_line.hpp"
#include "launch/reaper.hpp"
#include "launch/task_process.hpp"

namespace muster::launch {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using clock = std::chrono::steady_clock;

constexpr std::size_t order_bytes_max = std::size_t{64} << 20;
constexpr std::chrono::seconds kill_patience{30};

// That no rank inherits: who holds the line of reports keeps the worker waiting for its end.
file_descriptor own(int fd) {
  return opened(::fcntl(fd, F_DUPFD_CLOEXEC, 3), "the worker's line");
}

struct rank {
  explicit rank(asio::io_context& io) : killing(io) {}
  rank_end end{};
  std::unique_ptr<task_process> process;  // null: it was not started
  asio::steady_timer killing;
  clock::time_point kill_at = clock::time_point::max();
  bool over = false;
};

class rank_launcher {
 public:
  explicit rank_launcher(side here)
      : children_(io_, [this](pid_t pid, int raw) { ended(pid, raw); }),
        guardian_(io_, std::move(here.line),
                  {[this](int signal) { on_signal(signal); }, [this] { kill_all(); }}),
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
      if (error) return output_ ? kill_all() : io_.stop();
      lines_.add({buffer_.data(), n});
      read();
    });
  }

  void take(std::string_view line) {
    try {
      auto order = parse_order(line, current_environment());
      if (order.start && !output_) start(std::move(*order.start));
      if (order.stop) stop(*order.stop);
      if (order.lease_until) keep_until(*order.lease_until);
    } catch (std::exception const& e) {
      std::cerr << "an order to ranks makes no sense: " << e.what() << '\n';
      if (output_) return;
      status_ = 2;
      io_.stop();
    }
  }

  void start(start_order order) {
    grace_ = order.grace;
    output_ = std::make_unique<output>(io_, output_options{.shown = false,
                                                           .prefix = false,
                                                           .directory = order.logs,
                                                           .file_bytes_max = rank_log_bytes_max});
    output_->resume = [this] {
      for (auto const& r : ranks_)
        if (r->process) r->process->resume();
    };
    for (auto& role : order.ranks) {
      ranks_.push_back(std::make_unique<rank>(io_));
      start(*ranks_.back(), std::move(role));
    }
    for (auto const& r : ranks_)
      if (!r->end.not_started.empty()) over(*r);
  }

  void start(rank& r, rank_role role) {
    r.end.rank = role.rank;
    r.end.not_started = role.refusal;
    if (!r.end.not_started.empty()) return;
    try {
      prepare_directory(role);
      auto const command = role.program.argv.front();
      auto process = std::make_unique<task_process>(io_, *output_, std::move(role.program),
                                                    [this, &r] { over(r); });
      try {
        process->start();
      } catch (std::system_error const& e) {
        r.end.not_started = start_error(command, e);
        return;
      }
      r.process = std::move(process);
      reports_.started(role.rank, r.process->pid());
    } catch (std::exception const& e) {
      r.end.not_started = e.what();
    }
  }

  static void prepare_directory(rank_role const& role) {
    auto const& cwd = role.program.cwd;
    std::error_code ignored;
    if (role.own_cwd) {
      std::filesystem::create_directories(cwd);
      auto const& user = role.program.user;
      if (user && ::chown(cwd.c_str(), user->user, user->group) != 0)
        throw std::system_error(errno, std::generic_category(), cwd);
    } else if (!std::filesystem::is_directory(cwd, ignored)) {
      throw std::runtime_error("the working directory '" + cwd + "' does not exist on this host");
    }
  }

  void ended(pid_t pid, int raw) {
    auto const it = std::find_if(ranks_.begin(), ranks_.end(), [pid](auto const& r) {
      return r->process && r->process->pid() == pid;
    });
    if (it == ranks_.end()) return;
    auto& r = **it;
    r.process->signal(SIGKILL);  // what it leaves behind in its group
    ending e;
    set_status(e, raw);
    r.end.exit_status = e.signal != 0 ? 0 : e.status;
    r.end.signal = e.signal;
    r.killing.cancel();
    r.process->ended();
  }

  // Nothing of it runs, or ever did, and what it printed was read.
  void over(rank& r) {
    r.over = true;
    if (r.process) r.end.last_errors = r.process->last_errors();
    auto const all =
        std::all_of(ranks_.begin(), ranks_.end(), [](auto const& o) { return o->over; });
    if (all) kill_orphans();
    output_->mark([this, &r] {
      reports_.ended(r.end);
      if (++told_ == ranks_.size()) finish();
    });
  }

  void finish() {
    output_->finish([this] { reports_.finish([this] { io_.stop(); }); });
  }

  void stop(stop_order const& o) {
    for (auto const& r : ranks_)
      if (o.ranks.empty() || std::count(o.ranks.begin(), o.ranks.end(), r->end.rank) > 0)
        stop(*r, o.signal, o.grace);
  }

  // A later order may shorten the grace, never lengthen it.
  void stop(rank& r, int signal, std::chrono::milliseconds grace) {
    if (!r.process || !r.process->running()) return;
    r.end.stopped = true;
    if (grace <= std::chrono::milliseconds(0)) return r.process->signal(SIGKILL);
    r.process->signal(signal);
    r.process->signal(SIGCONT);  // one that is suspended could not heed it
    r.kill_at = std::min(r.kill_at, clock::now() + grace);
    r.killing.expires_at(r.kill_at);
    r.killing.async_wait([&r](error_code error) {
      if (!error) r.process->signal(SIGKILL);
    });
  }

  void keep_until(clock::time_point until) {
    lease_.expires_at(until);
    lease_.async_wait([this](error_code error) {
      if (error) return;
      for (auto const& r : ranks_)
        if (r->process && r->process->running()) r->end.lease_ran_out = true;
      kill_all();
    });
  }

  void on_signal(int number) {
    if (number == SIGUSR1 || number == SIGUSR2) return;
    for (auto const& r : ranks_) stop(*r, number, grace_);
  }

  // The worker, its lease or the guardian is gone. What ignores SIGKILL, as who waits for a disk
  // that is gone, is left to the kernel after a while.
  void kill_all() {
    for (auto const& r : ranks_) stop(*r, SIGKILL, std::chrono::milliseconds(0));
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
  std::chrono::milliseconds grace_{};
  std::unique_ptr<output> output_;  // from the order to start on
  std::vector<std::unique_ptr<rank>> ranks_;
  std::size_t told_ = 0;  // of them, whose end was told
  int status_ = 0;
};

}  // namespace

int run_ranks(side launcher) {
  return rank_launcher(std::move(launcher)).run();
}

}  // namespace muster::launch
