// Queries a server for the data of reports. Throws the same errors as `rest` if the subject cannot
// be read. Other missing data is listed in `left_out`.
#pragma once

#include <cstdint>
#include <string>

#include "cli/rest.hpp"

namespace muster::cli::postmortem {

constexpr std::size_t logs_max = 64;
constexpr std::size_t events_max = 200;  // newest events within the report's time
constexpr std::size_t events_asked = 10'000;

/// Returns the report. `path` is the path of the program or job; `said` is an additional sentence
/// for the head.
std::string report_on_program(rest& server, std::string const& path, std::string const& said);
std::string report_on_job(rest& server, std::string const& path, std::string const& said);
/// @throws command_error (failed) if the cluster has no run with this number
std::string report_on_run(rest& server, std::string const& cluster, std::uint64_t run);

}  // namespace muster::cli::postmortem
