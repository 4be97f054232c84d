// The report on a program, from `facts` (parts.hpp) with `program`, its `attempts` as
// GET …/attempts/N tells of them, the oldest first, `ranks` of the last, `stacks` of those that
// live, and `logs` {rank, task, log, why}. Pure.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli::postmortem {

constexpr std::size_t log_bytes_max = 16 << 10, log_of_cause_bytes_max = 64 << 10;
constexpr std::size_t stacks_bytes_max = 256 << 10, attempts_bytes_max = 4 << 20;

/// With how each ended, as `end`.
json::array failed_first(json::array const& ranks);
std::string program_report(json::value const& facts);

}  // namespace muster::cli::postmortem
