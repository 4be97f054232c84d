// Submits one closure, or one for each line of a file. Lines are sent in chunks, which wait while
// the server is full.
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
  std::optional<bool> check{};  // option of muster.exec; if it is not set, the worker decides
};

/// Returns the argument as JSON if it is valid JSON, otherwise as a string.
json::value argument(std::string const& text);

/// Returns arguments that resemble a JSON list or object but are invalid, and are therefore sent as
/// strings.
std::vector<std::string> nearly_json(std::vector<std::string> const& arguments);

json::value submit_one(rest& server, job_request const& request,
                       std::vector<std::string> const& arguments);

struct room_wait {
  wait_limit limit;
  bool quiet = false;  // if true, the reason is not printed
};

/// Submits one closure for each line, a JSON list of arguments. Skips empty lines. While the server
/// is full, retries, and prints the reason after a second. If a job with the idempotency key
/// exists, only the remaining lines are added; the earlier lines must be unchanged.
/// @param name name of the input, for errors "NAME:LINE: …"
/// @throws command_error (usage) for an invalid line; the job is cancelled
/// @throws command_error (failed) if the limit ends while the server is full. The job is cancelled,
///   or left open if it has an idempotency key.
json::value submit_lines(rest& server, job_request const& request, std::istream& lines,
                         std::string const& name, room_wait const& wait);

/// Reads a line of at most 64 MiB, without its line end. @param name name of the input, for errors
/// @param number line number, from 1 @return false at the end of the input @throws command_error
/// (usage) if the line is longer
bool read_line(std::istream& lines, std::string& line, std::string const& name, std::size_t number);

}  // namespace muster::cli
