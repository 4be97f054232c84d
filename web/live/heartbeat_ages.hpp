// The ages of many heartbeats as one character each, for topics. Sending whole rows at each
// heartbeat would be most of the traffic of a dashboard with thousands of tasks. Web thread.
//
//   {"train":{"unit_ms":2083,"jobs":{"worker":"AAB-C…"}}}
//
// Each position is an index within the job. Its character is the age in units, one of A-Z a-z 0-9 +
// / (0 to 63; larger ages are 63). '-' marks a task that has sent no heartbeat, or whose heartbeats
// have ended; its row then contains the time of the last one. A unit is 1/48 of the heartbeat
// timeout.
#pragma once

#include <map>
#include <string>

#include "server/core/api/time.hpp"

namespace muster::web {

class heartbeat_ages {
 public:
  /// How often subscribers receive ages; dashboards count on between updates.
  static constexpr std::chrono::seconds every{2};

  /// Adds a task. Call in order of the index, without gaps within a job. `seen`: epoch for never.
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
