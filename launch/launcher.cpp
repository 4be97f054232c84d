#include "launch/launcher.hpp"

#include <signal.h>
#include <sys/eventfd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <random>

#include "base/backoff.hpp"
#include "base/process/child.hpp"
#include "launch/attempt.hpp"
#include "launch/reaper.hpp"
#include "launch/supervision.hpp"
#include "launch/supervisor_pipe.hpp"

namespace muster::launch {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using clock = std::chrono::steady_clock;

class launcher {
 public:
  explicit launcher(launch_options o)
      : options_(std::move(o)),
        backoff_(options_.backoff_min, options_.backoff_max, std::random_device()()),
        output_(io_, options_.output),
        children_(io_,
                  [this](pid_t pid, int raw) {
                    if (attempt_) attempt_->ended(pid, raw);
                  }),
        line_(io_, std::move(options_.supervisor_pipe),
              {[this](int signal) { on_signal(signal); }, [this] { on_supervisor_gone(); }}),
        pause_(io_) {
    output_.resume = [this] {
      if (attempt_) attempt_->resume();
    };
  }

  int run() {
    line_.listen();
    io_.poll();  // handles signals that the supervisor received earlier
    if (stop_signal_ != 0) {
      output_.say(signal_name(stop_signal_) + ": stopped before any task was started");
      return 128 + stop_signal_;
    }
    ::eventfd_write(options_.begun.get(), 1);
    children_.start();
    begin();
    io_.run();
    return status_;
  }

 private:
  void begin() {
    began_ = clock::now();
    // Destroys the previous attempt here, while none of its handlers is pending.
    attempt_ = std::make_unique<attempt>(attempt::environment{io_, output_, options_.grace},
                                         options_.roles(restarts_),
                                         [this](attempt_result r) { over(std::move(r)); });
    attempt_->start();
  }

  // Stops the run, which must not outlive the supervisor.
  void on_supervisor_gone() {
    stop_signal_ = SIGKILL;
    output_.abandon();
    if (ending_ || !attempt_) return;
    if (pausing_) {
      pause_.cancel();
      return end(128 + SIGKILL);
    }
    attempt_->kill();
    attempt_->resume();
  }

  void on_signal(int number) {
    if (number == SIGUSR1 || number == SIGUSR2) {
      if (!ending_ && attempt_) attempt_->forward(number);
      return;
    }
    bool const again = stop_signal_ != 0;
    stop_signal_ = number;
    if (!attempt_) return;  // run() checks stop_signal_
    if (ending_) return output_.abandon();
    if (!again && pausing_) {
      pause_.cancel();
      output_.say(signal_name(number) + ": stopped during the pause before a restart");
      return end(128 + number);
    }
    if (!again) {
      output_.say(signal_name(number) + ": forwarded to running tasks (" +
                  std::to_string(attempt_->running()) + "); they receive SIGKILL after " +
                  seconds(options_.grace) + ", or after a second signal");
      return attempt_->stop(number);
    }
    attempt_->kill();
    output_.abandon();
    attempt_->resume();
  }

  void over(attempt_result r) {
    kill_orphans();
    if (!r.first) return end(0);
    auto const& first = *r.first;
    if (stop_signal_ != 0) {
      output_.say("stopped by " + signal_name(stop_signal_) + ": " + first.task + " ended with " +
                  describe(first));
      return end(first.status);
    }
    bool const free = options_.free_restart_status && *options_.free_restart_status == first.status;
    output_.say(summary(r));
    if (first.why == ending::cause::not_started || (!free && counted_ >= options_.max_restarts))
      return end(first.status);
    if (!free) ++counted_;
    restart_later(free);
  }

  void restart_later(bool free) {
    if (clock::now() - began_ >= options_.backoff_reset_after) backoff_.reset();
    auto const delay = backoff_.next();
    ++restarts_;
    auto const which = free ? std::string("which does not count as a restart")
                            : std::to_string(counted_) + " of " +
                                  std::to_string(options_.max_restarts) + " restarts";
    output_.say("all tasks restart in " + seconds(delay) + " (" + which + ")");
    pausing_ = true;
    pause_.expires_after(delay);
    pause_.async_wait([this](error_code error) {
      pausing_ = false;
      if (!error && !ending_) begin();
    });
  }

  void end(int status) {
    status_ = status;
    ending_ = true;
    output_.finish([this] { io_.stop(); });
  }

  launch_options options_;
  asio::io_context io_{1};
  backoff backoff_;
  output output_;
  reaper children_;
  supervisor_pipe line_;
  asio::steady_timer pause_;
  std::unique_ptr<attempt> attempt_;
  clock::time_point began_{};
  int restarts_ = 0;
  int counted_ = 0;  // restarts that count towards max_restarts
  int stop_signal_ = 0;
  bool pausing_ = false;
  bool ending_ = false;
  int status_ = 0;
};

}  // namespace

std::vector<int> free_ports(std::size_t count) {
  namespace ip = asio::ip;
  asio::io_context io;
  // Keeps the sockets open until all ports are known, so that the ports differ.
  std::vector<ip::tcp::acceptor> held;
  std::vector<int> ports;
  for (std::size_t i = 0; i < count; ++i) {
    held.emplace_back(io, ip::tcp::endpoint(ip::address_v4::loopback(), 0));
    ports.push_back(held.back().local_endpoint().port());
  }
  return ports;
}

int run(launch_options options) {
  return launcher(std::move(options)).run();
}

}  // namespace muster::launch
