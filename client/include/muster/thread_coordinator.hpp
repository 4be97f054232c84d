// Threads that stop together: the first exception asks all others to stop and is raised by join.
//
// stop_on_exception, request_stop and should_stop may be called from any thread, the rest by the
// one that made it.
#pragma once

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "muster/end_of_data.hpp"

namespace muster {

class thread_coordinator {
 public:
  struct options {
    /// How long join waits for threads once they were asked to stop.
    std::chrono::milliseconds grace = std::chrono::seconds(120);
    /// muster::end_of_data asks the others to stop without being an error; a line of the log says
    /// which thread threw it.
    bool end_of_data_is_clean = true;
  };

  thread_coordinator();
  explicit thread_coordinator(options o);
  /// Asks to stop, and waits as join does.
  ~thread_coordinator();
  thread_coordinator(thread_coordinator const&) = delete;

  /// Runs f on a thread of its own, under stop_on_exception. One that does not heed the stop within
  /// the grace period is left behind, so f must own, or outlive, what it uses.
  void start(std::string name, std::function<void()> f);
  /// Runs f here. What it throws is recorded if it is the first, and not passed on.
  void stop_on_exception(std::function<void()> const& f);

  /// Has all threads stop; the first error is the one that join throws.
  void request_stop(std::exception_ptr error = {});
  /// Whether that was asked for.
  bool should_stop() const;
  /// The same, to be waited for.
  std::stop_token stop_token() const;

  /// Waits for the threads, then raises the first error. Errors besides: std::runtime_error names
  /// the threads that are left behind, if there was no error.
  void join();

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace muster
