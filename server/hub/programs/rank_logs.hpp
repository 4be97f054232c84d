// Questions to workers for what ranks have printed, which lies on the workers' disks.
#pragma once

#include <cstdint>
#include <string>

#include "server/core/api/ranks.hpp"
#include "server/hub/worker_questions.hpp"

namespace muster::server {

struct rank_log_query {
  std::uint64_t number = 0;
  core::rank_name rank{};
  std::uint64_t offset = 0;
  bool from_end = false;  // it counts backwards
  std::uint32_t bytes_max = 0;
};

struct rank_log {
  bool known = false;        // its worker has it
  std::uint64_t offset = 0;  // of the first byte
  std::string data;
  std::uint64_t size = 0;  // of all
  bool complete = false;   // nothing will be added
  std::string task{};      // whose it is, "worker:3"; whoever asked knows
};

using rank_logs = worker_questions<rank_log>;

}  // namespace muster::server
