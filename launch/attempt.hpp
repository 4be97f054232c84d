// Runs all programs of a run once. The first failure stops the remaining programs. Programs that
// only serve are stopped when all others have ended. The launcher owns it and uses it on its
// thread.
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
    clock::duration grace;  // time from the stop signal to SIGKILL
  };

  /// @param over called once, when every program has ended and its output has been read, or when a
  ///   program survives SIGKILL for `kill_patience`; never during a call to this object
  attempt(environment e, std::vector<role> roles, std::function<void(attempt_result)> over);

  /// A program that cannot be started is the first failure.
  /// @throws std::runtime_error if an output file cannot be opened
  void start();
  /// Handles the exit of a process that was not reaped yet. Ignores processes that are not in this
  /// attempt.
  void ended(pid_t pid, int raw_status);

  /// Forwards a stop signal, and sends SIGKILL after the grace period. A stop does not count as a
  /// failure.
  void stop(int signal);
  void kill();
  void forward(int signal);
  void resume();
  std::size_t running() const;

 private:
  static constexpr std::chrono::seconds kill_patience{30};
  static constexpr std::chrono::seconds chief_patience{5};

  void start_one(task_process& t);
  void failed(ending const& e);
  void stop_if_only_servers_are_left();
  void watch_remaining_workers();
  std::string first_running_worker() const;
  void stop_all(int signal);
  void check_over();
  void finish();

  environment const env_;
  std::vector<std::unique_ptr<task_process>> tasks_;
  std::function<void(attempt_result)> on_over_;
  clock::time_point started_{};
  bool stopping_ = false;
  bool stop_requested_ = false;
  bool killed_ = false;
  bool ended_ = false;
  attempt_result result_;
  boost::asio::steady_timer timer_;
};

}  // namespace muster::launch
