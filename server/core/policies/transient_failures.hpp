// Failures that functions report and that are tolerated for a while: timeouts, and lost
// dependencies such as a restarting parameter server. A sliding window counts the reports of each
// session and of each component that a worker builds. The report that reaches the limit is fatal;
// earlier reports requeue the closure. Used only on the engine thread; bounded by
// config::dependencies_max names per session and by the fatal number of reports per name.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/core/api/config.hpp"
#include "server/core/api/transient_reports.hpp"
#include "server/core/api/vocabulary.hpp"
#include "server/core/records/numbers.hpp"

namespace muster::core {

class transient_failures {
 public:
  explicit transient_failures(config const& c) : config_(c) {}

  struct verdict {
    struct count {
      std::string dependency;
      std::size_t reports = 0;  // within the window, including this report
    };
    std::vector<count> counts;       // sorted
    std::vector<std::string> fatal;  // dependencies at the limit; empty if the failure is tolerated
    duration pause{};
  };
  /// REQUIRES: wrong() returned an empty string for `f`.
  verdict dependencies_lost(transient_reports& all, failure const& f, time_point now);
  /// Returns why the report is invalid, or an empty string. `exists` returns whether an undeclared
  /// task exists.
  using known_task = std::function<bool(std::string const& job, std::int64_t index)>;
  std::string wrong(failure const& f, known_task const& exists) const;
  std::size_t dependency_limit() const;

  /// Returns whether the closure is requeued. `workers` is the number of connected workers.
  bool tolerates_timeout(transient_reports& all, std::uint32_t workers, time_point now);

  transient_reports& of(session_number s) { return sessions_[s]; }

  void forget(session_number s) { sessions_.erase(s); }

  std::string invalid() const;

 private:
  std::size_t count(transient_reports& of, std::string const& dependency, time_point now);

  config const& config_;
  std::map<session_number, transient_reports> sessions_;
};

}  // namespace muster::core
