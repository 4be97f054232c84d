// The report on a job. In addition to the members in page.hpp, its `facts` contain `job`, `failed`
// (closures as REST lists them), and `logs` {closure: lines}. Pure functions.
#pragma once

#include <string>

#include "cli/postmortem/spans.hpp"

namespace muster::cli::postmortem {

constexpr std::size_t failed_looked_at_max = 1'000;
constexpr std::size_t failures_max = 20;
constexpr std::size_t log_lines_max = 100;
constexpr std::size_t traceback_bytes_max = 32 << 10, printed_bytes_max = 64 << 10;

/// Returns {closure, count} for each distinct failure, most frequent first, with failed inputs
/// last. Failures that differ only in numbers are equal.
json::array different_failures(json::array const& failed);
std::string job_report(json::value const& facts, spans const& done);

}  // namespace muster::cli::postmortem
