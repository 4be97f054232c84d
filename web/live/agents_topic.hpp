// The `agents` topic: rows by name, each in two halves. Who an agent is changes when it registers:
// then its row comes whole. How it fares changes for thousands at one moment (a barrier that most
// of them are late for, a generation that fails), with the same words for all: a delta says them
// once, with the ranges of the tasks that they are about.
//
//   "changes":[{"job":"train/worker","tasks":[3000,9998,10000,10000],"set":{"state":"LATE",…}}]
//
// Web thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "web/live/topic.hpp"

namespace muster::web {

struct agent_row {
  std::string job;  // "CLUSTER/JOB"; with ":INDEX" the row's name
  std::uint32_t index = 0;
  /// JSON objects with members, of different names. What `fares` leaves out does not hold.
  std::string is, fares;
};

class agents_topic final : public changing_rows<std::pair<std::string, std::uint32_t>> {
 public:
  agents_topic() : changing_rows(topic_name::agents) {}

  /// `rows`: all there are now, each once; `more`: how many were left out. `ages`: JSON of what
  /// moves all the time, apart from the rows, see heartbeat_ages.hpp. It is up to `now`, so every
  /// snapshot has the newest; a delta is due every two seconds.
  void update(std::vector<agent_row> rows, std::size_t more, core::time_point now,
              std::string ages);

 private:
  using key = std::pair<std::string, std::uint32_t>;
  struct row {
    std::string is, fares;
    std::uint64_t is_changed = 0, fares_changed = 0;  // at these numbers
    bool present = false;
  };

  void write_body(json_out& out, std::uint64_t const* from) const override;
  void write_changes(json_out& out, std::uint64_t from) const;

  std::map<key, row> rows_;
  std::size_t more_ = 0;
  std::string ages_;
  std::uint64_t ages_told_ = 0;  // at this number, and time, a delta with ages was due
  core::time_point ages_told_at_{};
};

}  // namespace muster::web
