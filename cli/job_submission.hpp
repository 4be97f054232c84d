// Submits one closure, or one for each line of a file. Lines are sent in chunks that wait while the
// server is full.
#pragma once

#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "cli/body_flags.hpp"
#include "cli/progress.hpp"
#include "cli/rest.hpp"

namespace muster::cli {

struct job_request {
  std::string function;
  body_flags job, options;
  body_flags closure;
  std::optional<bool> check{};  // of muster.exec; unset: the worker decides
};

/// Returns an argument as JSON if it is valid JSON, otherwise as a string.
json::value argument(std::string const& text);

/// Returns arguments that resemble a JSON list or object but are invalid, and are sent as strings.
std::vector<std::string> nearly_json(std::vector<std::string> const& arguments);

/// Returns the job as described by the server.
json::value submit_one(rest& server, job_request const& request,
                       std::vector<std::string> const& arguments);

/// How to wait while the server is full.
struct room_wait {
  wait_limit limit;
  bool quiet = false;  // do not print the reason
};

/// Submits one closure for each line, a JSON list of arguments. Skips empty lines. While the server
/// is full, repeats the request, and prints the reason after a second. A job that exists under the
/// idempotency key gets only the remaining lines, which must be the same in the same order.
/// @param name of the input, for errors "NAME:LINE: …"
/// @throws command_error (usage) for an invalid line; the job is cancelled.
/// @throws command_error (failed) if the limit ends while the server is full. The job is cancelled,
/// or left open if it has an idempotency key.
json::value submit_lines(rest& server, job_request const& request, std::istream& lines,
                         std::string const& name, room_wait const& wait);

/// Reads one line of at most 64 MiB, without its line end.
/// @param name of the input, for errors
/// @param number of the line, from 1
/// @return false at the end of the input
/// @throws command_error (usage) if the line is longer.
bool read_line(std::istream& lines, std::string& line, std::string const& name, std::size_t number);

}  // namespace muster::cli
