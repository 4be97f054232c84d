// The loop of a run: start, reap, pass signals on, start again or end.
#include "launch/launcher.hpp"

#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <random>

#include "base/backoff.hpp"
#include "launch/attempt.hpp"
#include "launch/guardian.hpp"

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
        children_(io_, SIGCHLD),
        line_(io_, options_.guardian_line.release()),
        pause_(io_) {
    output_.resume = [this] {
      if (attempt_) attempt_->resume();
    };
  }

  int run() {
    await_word();
    io_.poll();  // what the guardian was sent before this was asked to run
    if (told_ != 0) {
      output_.say(signal_name(told_) + ": stopped before anything was started");
      return 128 + told_;
    }
    ::eventfd_write(options_.begun.get(), 1);
    await_child();
    begin();
    io_.run();
    return status_;
  }

 private:
  void begin() {
    began_ = clock::now();
    // The one before is gone only now: none of its handlers waits any more.
    attempt_ = std::make_unique<attempt>(attempt::environment{io_, output_, options_.grace},
                                         options_.roles(restarts_),
                                         [this](attempt_result r) { over(std::move(r)); });
    attempt_->start();
  }

  void await_child() {
    children_.async_wait([this](error_code error, int) {
      if (error) return;
      reap();
      await_child();
    });
  }

  // Each is looked at before it is reaped: as long as the zombie is there, nobody else can have
  // the number of its process group.
  void reap() {
    for (;;) {
      siginfo_t info{};
      if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
      auto const pid = info.si_pid;
      int const raw = info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status & 0x7f;
      if (attempt_) attempt_->ended(pid, raw);
      ::waitpid(pid, nullptr, 0);
    }
  }

  // Of the guardian: a signal that it was sent, or its end. It has none before that: no deadline.
  void await_word() {
    line_.async_read_some(asio::buffer(&word_, 1), [this](error_code error, std::size_t) {
      if (error == asio::error::operation_aborted) return;
      if (error) return on_guardian_gone();
      on_signal(word_);
      await_word();
    });
  }

  // Killed. What it was the guardian of shall not outlive it.
  void on_guardian_gone() {
    told_ = SIGKILL;
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
    bool const again = told_ != 0;
    told_ = number;
    if (!attempt_) return;  // run() sees it
    if (ending_) return output_.abandon();
    if (!again && pausing_) {
      pause_.cancel();
      output_.say(signal_name(number) + ": stopped between two starts");
      return end(128 + number);
    }
    if (!again) {
      output_.say(signal_name(number) + ": passed on to " + std::to_string(attempt_->running()) +
                  " running; in " + seconds(options_.grace) + ", or after a second one, SIGKILL");
      return attempt_->stop(number);
    }
    attempt_->kill();
    output_.abandon();  // if that is what holds everything up
    attempt_->resume();
  }

  void over(attempt_result r) {
    kill_orphans();
    if (!r.first) return end(0);
    auto const& first = *r.first;
    if (told_ != 0) {
      output_.say("stopped by " + signal_name(told_) + ": " + first.task + " ended with " +
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
    auto const which = free ? std::string("which asks for a restart that is not counted")
                            : std::to_string(counted_) + " of " +
                                  std::to_string(options_.max_restarts) + " restarts";
    output_.say("all start again in " + seconds(delay) + " (" + which + ")");
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
  asio::signal_set children_;
  asio::posix::stream_descriptor line_;
  char word_ = 0;
  asio::steady_timer pause_;
  std::unique_ptr<attempt> attempt_;
  clock::time_point began_{};
  int restarts_ = 0;  // all of them
  int counted_ = 0;   // towards max_restarts
  int told_ = 0;      // the last stop signal
  bool pausing_ = false;
  bool ending_ = false;
  int status_ = 0;
};

}  // namespace

std::vector<int> free_ports(std::size_t count) {
  namespace ip = asio::ip;
  asio::io_context io;
  std::vector<ip::tcp::acceptor> held;  // until all are known, so that they differ
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
