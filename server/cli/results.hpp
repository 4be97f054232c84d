// Prints what came out of a job: its values as they stand in the NDJSON answer of the server, and
// the error it ended with, in full.
#pragma once

#include <string>

#include "server/cli/rest.hpp"

namespace muster::cli {

enum class result_format {
  values,  // one value a line, as JSON
  table,   // index, state, value or error
  json,    // the server's own lines: {"index":…,"state":…,"value":…}
};
/// Adds --output values|table|json.
void add_result_option(CLI::App& verb, result_format& format);

/// In schedule order. With `follow` it waits for what is not finished yet.
void print_results(rest& server, std::string const& job, result_format format, bool follow);

/// 0 for SUCCEEDED; else the job's error on stderr and 1.
int judge(json::value const& job);

}  // namespace muster::cli
