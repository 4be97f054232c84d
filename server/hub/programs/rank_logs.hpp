// Queries to workers for the output of ranks, which is stored on the workers' disks.
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
  bool from_end = false;  // whether `offset` counts from the end
  std::uint32_t bytes_max = 0;
};

struct rank_log {
  bool known = false;  // false if the worker has no such log
  std::uint64_t offset = 0;
  std::string data;
  std::uint64_t size = 0;  // size of the whole log
  bool complete = false;
  std::string task{};  // "worker:3"; set by the caller
};

using rank_logs = worker_questions<rank_log>;

}  // namespace muster::server
