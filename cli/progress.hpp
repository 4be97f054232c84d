// Waits for a job and shows how far it is: a bar that redraws itself on a terminal, a line now and
// then elsewhere. Writes to stderr, so that results on stdout can be piped.
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

/// One state of a job, as the server tells it.
struct job_counts {
  std::uint64_t waiting = 0;  // blocked or queued
  std::uint64_t running = 0, succeeded = 0, failed = 0, cancelled = 0;

  std::uint64_t finished() const { return succeeded + failed + cancelled; }
  std::uint64_t total() const { return waiting + running + finished(); }
};
job_counts counts_of(json::value const& job);
/// For people: of a job that has not ended RUNNING while something of it runs, else WAITING, or
/// IDLE when there is nothing to do. Programs have its `state`, with --output json.
std::string state_of(json::value const& job);

/// Turns states of a job into text. Knows no clock and no terminal.
class progress_text {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// "[######......] 512/1,024  8 running, 504 waiting  1,200/s  0.4 s left"
  std::string bar(job_counts const& c, time_point now);
  /// The same without the bar.
  std::string line(job_counts const& c, time_point now);

 private:
  double rate(job_counts const& c, time_point now);

  struct sample {
    time_point at;
    std::uint64_t finished;
  };
  std::deque<sample> samples_;  // of the last seconds
};

/// The last line of the terminal that stderr is: a text that stands below whatever else is printed.
/// Nothing is drawn when stderr is no terminal, or `quiet`. Any thread.
class screen {
 public:
  explicit screen(bool quiet);
  /// Clears the line.
  ~screen();
  screen(screen const&) = delete;

  bool drawing() const { return terminal_; }
  void draw(std::string const& text);
  /// Runs `print` with the line out of the way, and draws it again below.
  void above(std::function<void()> const& print);

 private:
  void show();
  void clear();

  bool const terminal_;
  std::mutex mutex_;
  std::string text_;
};

/// The value of --timeout, which counts from the construction of this.
struct wait_limit {
  using clock = std::chrono::steady_clock;

  /// @param wanted nothing: there is no limit
  explicit wait_limit(std::optional<duration> wanted)
      : timeout(wanted), end(wanted ? clock::now() + *wanted : clock::time_point::max()) {}
  bool is_over() const { return clock::now() >= end; }

  std::optional<duration> timeout;
  clock::time_point end;
};

/// The job still runs after the time that was given.
command_error too_late(waiting_reason& reason, std::string const& id, duration timeout);

/// Waits until the job has ended and returns its last state. Tells what it waits for once nothing
/// has run for a second.
/// @param quiet show nothing
/// @throws command_error (failed) if the limit ends first.
json::value wait_for_job(rest& server, std::string const& id, wait_limit const& limit, bool quiet);

}  // namespace muster::cli
