// The report on a job, from `facts` (parts.hpp) with `job`, closures that `failed` as REST lists
// them, and `logs` {closure: lines}. Pure.
#pragma once

#include <string>

#include "cli/postmortem/spans.hpp"

namespace muster::cli::postmortem {

constexpr std::size_t failed_looked_at_max = 1'000;  // closures
constexpr std::size_t failures_max = 20;             // different ones that are told
constexpr std::size_t log_lines_max = 100;           // of the first closure of each
constexpr std::size_t traceback_bytes_max = 32 << 10, printed_bytes_max = 64 << 10;

/// One closure of each different failure, the most frequent first, and those of inputs last:
/// {closure, count}. Numbers in messages make no difference.
json::array different_failures(json::array const& failed);
std::string job_report(json::value const& facts, spans const& done);

}  // namespace muster::cli::postmortem
