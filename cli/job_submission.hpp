// Submits one closure, or one for each line of a file of any length. Lines are sent in chunks,
// which wait while the server is full.
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
  body_flags job, options;      // of the job
  body_flags closure;           // the options of each closure
  std::optional<bool> check{};  // of muster.exec; unset: the worker decides
};

/// Returns an argument of the command line as JSON: parsed if it is valid JSON, otherwise a string.
json::value argument(std::string const& text);

/// Returns the arguments that begin like a JSON list or object but are invalid JSON, and are
/// therefore sent as strings.
std::vector<std::string> nearly_json(std::vector<std::string> const& arguments);

/// Submits one closure. Returns the job as described by the server.
json::value submit_one(rest& server, job_request const& request,
                       std::vector<std::string> const& arguments);

/// How a submission waits while the server is full.
struct room_wait {
  wait_limit limit;
  bool quiet = false;  // do not print the reason
};

/// Submits one closure for each line. A line is a JSON list of arguments; empty lines are skipped.
/// If the server is full, the request is repeated, and the reason is printed after a second. A job
/// that already exists under the idempotency key gets only the remaining lines; the same lines must
/// be given in the same order.
/// @param name of the input, for errors "NAME:LINE: …"
/// @throws command_error (usage) for an invalid line; the job is cancelled.
/// @throws command_error (failed) if the limit ends while the server is full. The job is cancelled,
/// or left open if the request has an idempotency key.
json::value submit_lines(rest& server, job_request const& request, std::istream& lines,
                         std::string const& name, room_wait const& wait);

/// Reads one line of at most 64 MiB, without its line end.
/// @param name of the input, for errors
/// @param number of the line, from 1
/// @return false at the end of the input
/// @throws command_error (usage) if the line is longer.
bool read_line(std::istream& lines, std::string& line, std::string const& name, std::size_t number);

}  // namespace muster::cli
