// Reports why a job makes no progress, as the server explains it for one waiting closure. Each
// reason is reported once. One thread; queries the server at most once a second.
#pragma once

#include <chrono>
#include <string>

#include "cli/progress.hpp"
#include "cli/rest.hpp"

namespace muster::cli {

/// The explanation of a job's first closure in a state. An empty id: there is no such closure.
struct explained_closure {
  std::string id, text;
  std::string called;  // name of what its function calls; empty: unknown
  std::string reason;  // code of the reason, such as "NO_WORKER"
  std::string cause;   // if it waits: the text without its state and age
};

class waiting_reason {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// `job` is its id.
  waiting_reason(rest& server, std::string job, time_point now)
      : server_(server), job_(std::move(job)), since_(now) {}

  /// Returns a line to show, or an empty string if there is no new reason. Reports only after
  /// nothing has run for a second. Ignores errors of the server.
  std::string news(job_counts const& c, time_point now);
  /// Returns the explanation of a waiting closure. An empty id: none waits, or the server cannot
  /// explain it.
  explained_closure ask();

 private:
  rest& server_;
  std::string const job_;
  time_point since_;  // time of the last progress
  std::uint64_t finished_ = 0;
  time_point asked_{};
  std::string told_;  // the code of the last reported reason
};

/// Explains the job's first closure in a state, such as "QUEUED".
explained_closure explain_first(rest& server, std::string const& job, std::string const& state);

}  // namespace muster::cli
