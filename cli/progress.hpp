// Waits for a job and shows its progress: a bar on a terminal, occasional lines otherwise. Writes
// to stderr, so that results on stdout can be piped.
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

/// The counts of a job's closures at one time.
struct job_counts {
  std::uint64_t waiting = 0;  // blocked or queued
  std::uint64_t running = 0, succeeded = 0, failed = 0, cancelled = 0;

  std::uint64_t finished() const { return succeeded + failed + cancelled; }
  std::uint64_t total() const { return waiting + running + finished(); }
};
job_counts counts_of(json::value const& job);
/// Returns the state of a job for people. An unfinished job is RUNNING while a closure runs, IDLE
/// if it has no unfinished closures, and otherwise WAITING. Scripts read `state` with --output
/// json.
std::string state_of(json::value const& job);

/// Formats the progress of a job. Uses neither a clock nor a terminal.
class progress_text {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Returns "[######......] 512/1,024  8 running, 504 waiting  1,200/s  0.4 s left".
  std::string bar(job_counts const& c, time_point now);
  /// Returns the same text without the bar.
  std::string line(job_counts const& c, time_point now);

 private:
  double rate(job_counts const& c, time_point now);

  struct sample {
    time_point at;
    std::uint64_t finished;
  };
  std::deque<sample> samples_;  // of the last seconds
};

/// A status line at the bottom of the terminal on stderr, below other output. Draws nothing if
/// stderr is not a terminal, or with `quiet`. Any thread.
class screen {
 public:
  explicit screen(bool quiet);
  /// Clears the line.
  ~screen();
  screen(screen const&) = delete;

  bool drawing() const { return terminal_; }
  void draw(std::string const& text);
  /// Calls `print` while the line is cleared, and draws it again below.
  void above(std::function<void()> const& print);

 private:
  void show();
  void clear();

  bool const terminal_;
  std::mutex mutex_;
  std::string text_;
};

/// The value of --timeout, counted from construction.
struct wait_limit {
  using clock = std::chrono::steady_clock;

  /// @param wanted nothing: no limit
  explicit wait_limit(std::optional<duration> wanted)
      : timeout(wanted), end(wanted ? clock::now() + *wanted : clock::time_point::max()) {}
  bool is_over() const { return clock::now() >= end; }

  std::optional<duration> timeout;
  clock::time_point end;
};

/// Returns the error for a job that still runs at the end of its timeout.
command_error too_late(waiting_reason& reason, std::string const& id, duration timeout);

/// Waits until the job has ended and returns its last state. Prints why it waits when none of it
/// has run for a second.
/// @param quiet show nothing
/// @throws command_error (failed) if the limit ends first.
json::value wait_for_job(rest& server, std::string const& id, wait_limit const& limit, bool quiet);

}  // namespace muster::cli
