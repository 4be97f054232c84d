// Executions of a job's closures, from GET /api/v1/jobs/{id}/trace: a timeline, and sums by
// function and worker.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/postmortem/lanes.hpp"
#include "cli/rest.hpp"

namespace muster::cli::postmortem {

constexpr std::size_t spans_max = 200'000;

class spans {
 public:
  /// Returns false at the limit; this line and all further lines are omitted.
  bool read(std::string_view line);
  bool empty() const { return all_.empty(); }

  /// Returns objects {name, count, failed, total_ms, median_ms, p95_ms, longest_ms} for functions
  /// or workers, largest total first.
  json::array sums(bool by_function) const;
  std::string timeline(std::int64_t from_ms, std::int64_t to_ms) const;

 private:
  struct span {
    std::string const *function, *task;
    std::int64_t from_us, took_us;
    shade of;
  };
  std::map<std::string, std::string> names_;  // keyed by number; includes processes and threads
  std::vector<span> all_;
};

}  // namespace muster::cli::postmortem
