// Waits for a job and shows its progress on stderr: a bar on a terminal, occasional lines
// otherwise.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

class waiting_reason;

struct job_counts {
  std::uint64_t waiting = 0;  // blocked or queued closures
  std::uint64_t running = 0, succeeded = 0, failed = 0, cancelled = 0;

  std::uint64_t finished() const { return succeeded + failed + cancelled; }
  std::uint64_t total() const { return waiting + running + finished(); }
};
job_counts counts_of(json::value const& job);
/// Returns a display state: RUNNING while a closure of an unfinished job is running, IDLE if all
/// its closures have finished, otherwise WAITING. With --output json, scripts read `state`.
std::string state_of(json::value const& job);

/// Formats progress without using a clock or a terminal.
class progress_text {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Returns "[######......] 512/1,024  8 running, 504 waiting  1,200/s  0.4 s left".
  std::string bar(job_counts const& c, time_point now);
  std::string line(job_counts const& c, time_point now);

 private:
  double rate(job_counts const& c, time_point now);

  struct sample {
    time_point at;
    std::uint64_t finished;
  };
  std::deque<sample> samples_;
};

/// A status line at the bottom of a terminal on stderr. Draws nothing without a terminal, or if
/// `quiet` is set. Thread-safe.
class screen {
 public:
  explicit screen(bool quiet);
  ~screen();
  screen(screen const&) = delete;

  bool drawing() const { return terminal_; }
  void draw(std::string const& text);
  /// Calls `print` while the status line is cleared, and redraws the line below.
  void above(std::function<void()> const& print);

 private:
  void show();
  void clear();

  bool const terminal_;
  std::mutex mutex_;
  std::string text_;
};

struct wait_limit {
  using clock = std::chrono::steady_clock;

  /// @param wanted time limit; no value means no limit
  explicit wait_limit(std::optional<duration> wanted)
      : timeout(wanted), end(wanted ? clock::now() + *wanted : clock::time_point::max()) {}
  bool is_over() const { return clock::now() >= end; }

  std::optional<duration> timeout;
  clock::time_point end;
};

command_error too_late(waiting_reason& reason, std::string const& id, duration timeout);

/// Waits for the job and returns its last state. Prints the reason if nothing has been running for
/// a second.
/// @param quiet if true, nothing is shown
/// @throws command_error (failed) if the limit ends first
json::value wait_for_job(rest& server, std::string const& id, wait_limit const& limit, bool quiet);

}  // namespace muster::cli
