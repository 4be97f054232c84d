// The ages of many heartbeats as one character each, for topics: rows that are sent again with each
// heartbeat would be most of what a page with thousands of tasks receives. Web thread.
//
//   {"train":{"unit_ms":2083,"jobs":{"worker":"AAB-C…"}}}
//
// By index within the job: the age in units, written as one of A-Z a-z 0-9 + / (0 to 63; more is
// 63), '-' for one that was never heard of, or that beats no more: its row says when it last did. A
// unit is a 48th of the heartbeat's time-out.
#pragma once

#include <map>
#include <string>

#include "server/core/api/time.hpp"

namespace muster::web {

class heartbeat_ages {
 public:
  /// How often those who have a page open are told; pages count on by themselves meanwhile.
  static constexpr std::chrono::seconds every{2};

  /// In order of the index, each job without gaps. `seen`: epoch for never.
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
