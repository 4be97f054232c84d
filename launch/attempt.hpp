// Runs all programs of a run once: the first failure stops the others, and those that only serve
// are stopped when all others are done. Owned by the launcher; its thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "launch/ending.hpp"
#include "launch/task_process.hpp"

namespace muster::launch {

class attempt {
 public:
  using clock = std::chrono::steady_clock;

  struct environment {
    boost::asio::io_context& io;
    output& out;
    clock::duration grace;  // from being told to stop to SIGKILL
  };

  /// `over` is called once, when every program has ended and was read to the end, or when one
  /// survives SIGKILL for `kill_patience`; never from within a call of this object.
  attempt(environment e, std::vector<role> roles, std::function<void(attempt_result)> over);

  /// Starts all of them. One that cannot be started is the first failure. Errors:
  /// std::runtime_error (an output file).
  void start();
  /// From the reaper, before the zombie is gone; it may be none of these.
  void ended(pid_t pid, int raw_status);

  /// Passes a stop signal on, and SIGKILL after the grace period. Not a failure of anybody.
  void stop(int signal);
  /// Kills whatever is left of the programs.
  void kill();
  /// Passes a signal on that does not stop.
  void forward(int signal);
  void resume();
  /// How many of them have not ended.
  std::size_t running() const;

 private:
  static constexpr std::chrono::seconds kill_patience{30};
  static constexpr std::chrono::seconds chief_patience{5};  // until who goes on is told of

  void start_one(task_process& t);
  void failed(ending const& e);
  void stop_if_only_servers_are_left();
  void watch_who_goes_on();
  std::string who_goes_on() const;
  void stop_all(int signal);
  void check_over();
  void finish();

  environment const env_;
  std::vector<std::unique_ptr<task_process>> tasks_;
  std::function<void(attempt_result)> on_over_;
  clock::time_point started_{};
  bool stopping_ = false;
  bool told_ = false;  // by stop()
  bool killed_ = false;
  bool over_ = false;
  attempt_result result_;
  boost::asio::steady_timer timer_;
};

}  // namespace muster::launch
