// One line for the log and the event feed, whichever core or part of the server it comes from.
#pragma once

#include <string>

#include "server/core/coordination/api/coordination_effects.hpp"

namespace muster::server {

struct log_event {
  core::coordination::severity severity = core::coordination::severity::info;
  std::string kind;     ///< "task_registered", "barrier_failed", …
  std::string cluster;  ///< its name; empty: of none
  std::string subject;  ///< the task, worker or barrier, may be empty
  std::string text;
};

}  // namespace muster::server
