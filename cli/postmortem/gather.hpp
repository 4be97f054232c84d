// What reports are made of, asked of a server. Throws as rest does where the subject itself cannot
// be had; whatever else cannot is told in `left_out`.
#pragma once

#include <cstdint>
#include <string>

#include "cli/rest.hpp"

namespace muster::cli::postmortem {

constexpr std::size_t logs_max = 64;     // of ranks
constexpr std::size_t events_max = 200;  // the newest of that time
constexpr std::size_t events_asked = 10'000;

/// The whole report. `path`: of the program or job; `said`: a sentence more for its head.
std::string report_on_program(rest& server, std::string const& path, std::string const& said);
std::string report_on_job(rest& server, std::string const& path, std::string const& said);
/// command_error (failed): the cluster knows of no such run.
std::string report_on_run(rest& server, std::string const& cluster, std::uint64_t run);

}  // namespace muster::cli::postmortem
