#include "server/core/texts/reason_texts.hpp"

#include <algorithm>

#include "base/utf8.hpp"
#include "server/core/api/id_text.hpp"

namespace muster::core {

namespace {

std::string in_seconds(duration d) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(d).count()) + " s";
}

std::string bytes(std::uint64_t b) {
  return std::to_string(b) + " bytes";
}

/// Limits each part of a text that is copied into every cancelled closure.
constexpr std::size_t quoted_bytes_max = 80;

/// Returns a text such as "ZeroDivisionError: division by zero (on worker:0)". Contains only the
/// first non-empty line of the message.
std::string short_text(failure const& error) {
  auto const dot = error.type.rfind('.');
  auto said =
      shortened(error.type.substr(dot == std::string::npos ? 0 : dot + 1), quoted_bytes_max);
  if (!said.empty()) said += ": ";
  std::string_view message = error.message;
  message.remove_prefix(std::min(message.find_first_not_of("\r\n"), message.size()));
  said += shortened(message.substr(0, message.find('\n')), quoted_bytes_max);
  return error.worker.empty() ? said : said + " (on " + error.worker + ")";
}

std::string reason(release_reason why, config const& c) {
  switch (why) {
    case release_reason::client:
      return "its client released it, or received it on completion";
    case release_reason::session_end:
      return "its session has ended";
    case release_reason::job_deleted:
      return "its job was deleted";
    case release_reason::jobs:
      return "more jobs than --jobs-kept (" + std::to_string(c.finished_jobs_max) +
             ") have finished since";
    case release_reason::bytes:
      return "values used more memory than --value-bytes-max (" + bytes(c.value_bytes_max) +
             (c.spill ? "), and they could not be spilled to --spill-dir"
                      : "); a server with --spill-dir would have kept it on disk");
    case release_reason::age:
      return "it was older than --value-age (" + in_seconds(c.value_age) + ")";
    case release_reason::session_values:
      return "its session had more values than --session-values-max (" +
             std::to_string(c.session_values_max) + ")";
    case release_reason::session_bytes:
      return "the values of its session used more than --session-value-bytes-max (" +
             bytes(c.session_value_bytes_max) + ")";
    case release_reason::spill_bytes:
      return "values on disk used more than --spill-bytes-max (" + bytes(c.spill_bytes_max) + ")";
    case release_reason::unreadable:
      return "it could not be read back from --spill-dir; see the server log for the reason";
    case release_reason::holder_lost:
      return "it was only in the memory of a worker that was lost";
  }
  return "?";
}

}  // namespace

std::string when_and_why(release_reason why, duration ago, config const& c) {
  return in_seconds(ago) + " ago: " + reason(why, c);
}

std::string released(closure_id of, release_reason why, duration ago, config const& c) {
  return "the value of " + text(of) + " was released " + when_and_why(why, ago, c);
}

std::string cancelled_because_of(closure_id of, std::string const& function, failure const& error) {
  return "cancelled because call " + text(of) + " (" + shortened(function, quoted_bytes_max) +
         ") failed: " + short_text(error);
}

std::string cancelled_because_of(session_id job, failure const& error) {
  return "cancelled because " + text(job) + " failed: " + short_text(error);
}

std::string absence(bool lost, duration away, std::string const& error) {
  return std::string("has been ") + (lost ? "lost" : "disconnected") + " for " + in_seconds(away) +
         " and is given up (" + error + ")";
}

}  // namespace muster::core
