// Why a job does not get on: what the server says about one closure that waits, told once for each
// different reason. Used by one thread; asks the server once a second at most.
#pragma once

#include <chrono>
#include <string>

#include "cli/progress.hpp"
#include "cli/rest.hpp"

namespace muster::cli {

/// What explains the job's first closure in that state ("QUEUED"); without an id: there is none.
struct explained_closure {
  std::string id, text;
  std::string called;  // what its function calls; empty: not known
  std::string reason;  // why it is where it is, as a code: "NO_WORKER"
  std::string cause;   // of one that waits: the text without its state and age
};

class waiting_reason {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// `job` is its id.
  waiting_reason(rest& server, std::string job, time_point now)
      : server_(server), job_(std::move(job)), since_(now) {}

  /// A line to show; empty: there is nothing new to say. Speaks once nothing has run for a second.
  /// A server that cannot say is not an error.
  std::string news(job_counts const& c, time_point now);
  /// What explains a closure that waits; without an id: none waits, or the server cannot say.
  explained_closure ask();

 private:
  rest& server_;
  std::string const job_;
  time_point since_;  // when it last got on
  std::uint64_t finished_ = 0;
  time_point asked_{};
  std::string told_;  // the reason's code
};

/// Of the job's closures in that state ("QUEUED").
explained_closure explain_first(rest& server, std::string const& job, std::string const& state);

}  // namespace muster::cli
