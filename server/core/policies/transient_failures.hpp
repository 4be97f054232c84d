// Failures that a function reports and that are borne for a while: a lost dependency, such as a
// parameter server that restarts, and time-outs. Each session counts its own in a sliding window,
// and so does each component that a worker builds; the report that makes the number full is fatal,
// the ones before it put the closure back.
//
// Knows sessions by number and decides; it moves nothing. Owned by the coordinator; engine thread
// only. Limits: config::dependencies_max names a session, of each the times up to the fatal one.
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

  /// What a reported loss of dependencies means.
  struct verdict {
    struct count {
      std::string dependency;
      std::size_t reports = 0;  // within the window, this one included
    };
    std::vector<count> counts;       // of all that it names, sorted
    std::vector<std::string> fatal;  // those that were reported too often; none: it is borne…
    duration pause{};                // …and the closure runs again after this
  };
  /// REQUIRES: f is not wrong.
  verdict dependencies_lost(transient_reports& all, failure const& f, time_point now);
  /// Why the failure cannot be taken; empty when it can. `exists`: a task that is not declared
  /// does.
  using known_task = std::function<bool(std::string const& job, std::int64_t index)>;
  std::string wrong(failure const& f, known_task const& exists) const;
  /// Reports that are fatal within the window.
  std::size_t dependency_limit() const;

  /// Whether a reported time-out is requeued. `workers`: that are present.
  bool tolerates_timeout(transient_reports& all, std::uint32_t workers, time_point now);

  transient_reports& of(session_number s) { return sessions_[s]; }

  /// The session is gone.
  void forget(session_number s) { sessions_.erase(s); }

  /// Empty when all is in order.
  std::string invalid() const;

 private:
  std::size_t count(transient_reports& of, std::string const& dependency, time_point now);

  config const& config_;
  std::map<session_number, transient_reports> sessions_;  // that have reported anything
};

}  // namespace muster::core
