// Sends work to the server: one closure, or one for each line of a file, however long, in chunks
// that wait when the server is full.
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
  std::optional<bool> check{};  // of muster.exec; not set: the worker decides
};

/// An argument from the command line: JSON if it reads as JSON, else a string.
json::value argument(std::string const& text);

/// Those that begin like a JSON list or object and are none, so they are sent as text.
std::vector<std::string> nearly_json(std::vector<std::string> const& arguments);

/// One closure. Returns the job as the server describes it.
json::value submit_one(rest& server, job_request const& request,
                       std::vector<std::string> const& arguments);

/// How a submission waits for room on the server.
struct room_wait {
  wait_limit limit;
  bool quiet = false;  // print no reason
};

/// One closure for each line, which is a JSON list of arguments; empty lines are skipped. A line
/// that is not one cancels the job and throws (usage) with "NAME:LINE: …". A job that was there
/// under the idempotency key gets the lines that it has not: the same ones must come in the same
/// order. A server without room is asked again, and the reason is printed after a second.
/// @throws command_error (failed) if the limit ends while the server has no room. The job is
/// cancelled, or left open if the request has an idempotency key.
json::value submit_lines(rest& server, job_request const& request, std::istream& lines,
                         std::string const& name, room_wait const& wait);

/// Reads a line of arguments, without its end, of at most 64 MiB.
/// @param name of the text, for errors; `number` is that of the line, from 1.
/// @return false at the end of the text.
/// @throws command_error (usage) if the line is longer.
bool read_line(std::istream& lines, std::string& line, std::string const& name, std::size_t number);

}  // namespace muster::cli
