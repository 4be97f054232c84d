// A line of the log and the event feed, from any core or part of the server.
#pragma once

#include <string>

#include "server/core/coordination/api/coordination_effects.hpp"

namespace muster::server {

struct log_event {
  core::coordination::severity severity = core::coordination::severity::info;
  std::string kind;     ///< "task_registered", "barrier_failed", …
  std::string cluster;  ///< may be empty
  std::string subject;  ///< task, worker or barrier; may be empty
  std::string text;
};

}  // namespace muster::server
