// Encodes the ages of many heartbeats as one character each, for topics. With thousands of tasks, a
// whole row for each heartbeat would be most of the traffic. Used on
// the web thread.
//
//   {"train":{"unit_ms":2083,"jobs":{"worker":"AAB-C…"}}}
//
// Each position is an index within the job. Its character is the age in units, one of A-Z a-z 0-9 +
// / (0 to 63; larger ages are 63). '-' marks a task that has sent no heartbeat, or whose heartbeats
// have ended; the row of the latter contains the time of the last heartbeat. A unit is 1/48
// of the heartbeat timeout.
#pragma once

#include <map>
#include <string>

#include "server/core/api/time.hpp"

namespace muster::web {

class heartbeat_ages {
 public:
  /// Dashboards extrapolate the ages between updates.
  static constexpr std::chrono::seconds every{2};

  /// Must be called in order of the index, without gaps within a job. `seen` is the epoch if the
  /// task has sent no heartbeat.
  void add(std::string const& cluster, std::string const& job, core::time_point seen,
           core::time_point now, core::duration timeout);
  std::string json() const;

 private:
  struct of_cluster {
    core::duration unit{};
    std::map<std::string, std::string> jobs;
  };
  std::map<std::string, of_cluster> clusters_;
};

}  // namespace muster::web
