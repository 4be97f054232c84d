// Reports why a job makes no progress, using the server's explanation of one waiting closure.
// Reports each reason once. Sends at most one query per second. Not thread-safe.
#pragma once

#include <chrono>
#include <string>

#include "cli/progress.hpp"
#include "cli/rest.hpp"

namespace muster::cli {

/// Explanation of a job's first closure in a state. The ID is empty if there is no such closure.
struct explained_closure {
  std::string id, text;
  std::string called;
  std::string reason;  // reason code such as "NO_WORKER"
  std::string cause;   // text without state and age: the cause of a wait
};

class waiting_reason {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  waiting_reason(rest& server, std::string job, time_point now)
      : server_(server), job_(std::move(job)), since_(now) {}

  /// Returns a line to show, or an empty string if there is no new reason. Starts after a second
  /// without running closures. Ignores errors.
  std::string news(job_counts const& c, time_point now);
  /// The ID is empty if no closure is waiting or the query failed.
  explained_closure ask();

 private:
  rest& server_;
  std::string const job_;
  time_point since_;  // time of the last progress
  std::uint64_t finished_ = 0;
  time_point asked_{};
  std::string last_reported_;  // code of the last reported reason
};

explained_closure explain_first(rest& server, std::string const& job, std::string const& state);

}  // namespace muster::cli
