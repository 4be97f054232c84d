// Stays with a job until it ends: its results on stdout and its lines on stderr as they come, and a
// bar below them on a terminal.
#pragma once

#include <optional>
#include <string>

#include "cli/rest.hpp"
#include "cli/results.hpp"

namespace muster::cli {

struct follow_options {
  rest_options rest;
  result_format output = result_format::values;
  std::optional<duration> timeout;
  bool quiet = false;  // no bar
};

/// The job's last state. Throws command_error: as wait_for_job, or when the server went away.
json::value follow_job(rest& server, std::string const& id, follow_options const& o);

}  // namespace muster::cli
