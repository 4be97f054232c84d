// The report on a program. In addition to the members in page.hpp, its `facts` contain `program`,
// `attempts` as returned by GET …/attempts/N, oldest first, `ranks` of the last attempt, `stacks`
// of running ranks, and `logs` {rank, task, log, why}. Pure functions.
#pragma once

#include <string>

#include "cli/rest.hpp"

namespace muster::cli::postmortem {

constexpr std::size_t log_bytes_max = 16 << 10, log_of_cause_bytes_max = 64 << 10;
constexpr std::size_t stacks_bytes_max = 256 << 10, attempts_bytes_max = 4 << 20;

/// Returns failed ranks first. Each rank has a member `end` that describes how it ended.
json::array failed_first(json::array const& ranks);
std::string program_report(json::value const& facts);

}  // namespace muster::cli::postmortem
