// The `agents` topic: rows by name, in two parts. `is` identifies the agent; if it changes, the
// whole row is sent. `fares` is the agent's state, which can change for thousands of agents at
// once, for example at a late barrier. A delta contains a shared change once, with the ranges of
// affected tasks:
//
//   "changes":[{"job":"train/worker","tasks":[3000,9998,10000,10000],"set":{"state":"LATE",…}}]
//
// Used on the web thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "web/live/topic.hpp"

namespace muster::web {

struct agent_row {
  std::string job;  // "CLUSTER/JOB", to which ":INDEX" is appended
  std::uint32_t index = 0;
  /// JSON objects with disjoint members; a member that `fares` omits has no value
  std::string is, fares;
};

class agents_topic final : public changing_rows<std::pair<std::string, std::uint32_t>> {
 public:
  agents_topic() : changing_rows(topic_name::agents) {}

  /// `rows` contains each current row once; `more` counts the omitted rows. `ages` is JSON with
  /// continuously changing values, as of `now` (heartbeat_ages.hpp). Each snapshot contains `ages`,
  /// and a delta contains it every two seconds.
  void update(std::vector<agent_row> rows, std::size_t more, core::time_point now,
              std::string ages);

 private:
  using key = std::pair<std::string, std::uint32_t>;
  struct row {
    std::string is, fares;
    std::uint64_t is_changed = 0, fares_changed = 0;  // sequence number of the last change
    bool present = false;
  };

  void write_body(json_out& out, std::uint64_t const* from) const override;
  void write_changes(json_out& out, std::uint64_t from) const;

  std::map<key, row> rows_;
  std::size_t more_ = 0;
  std::string ages_;
  std::uint64_t ages_sent_at_seq_ = 0;  // sequence number of the last delta that contained ages
  core::time_point ages_sent_at_{};
};

}  // namespace muster::web
