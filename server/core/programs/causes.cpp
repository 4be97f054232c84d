#include "server/core/programs/causes.hpp"

#include <algorithm>
#include <string_view>

#include "base/utf8.hpp"

namespace muster::core::programs {
namespace {

constexpr std::uint32_t sigkill = 9;
constexpr std::size_t line_bytes_max = 240;  // of what the coordination service says, in the text

cause_kind kind_of(rank_end const& how) {
  if (how.lease_ran_out) return cause_kind::worker_lost;
  if (!how.not_started.empty()) return cause_kind::not_started;
  if (how.stopped) return cause_kind::worker_left;
  if (how.out_of_memory) return cause_kind::out_of_memory;
  return how.signal != 0 ? cause_kind::signal : cause_kind::exit_status;
}

std::string words(rank_view const& r, rank_end const& how) {
  switch (kind_of(how)) {
    case cause_kind::worker_lost:
      return r.worker + " was away for longer than its lease";
    case cause_kind::worker_left:
      return r.worker + " leaves, and has stopped it";
    case cause_kind::not_started:
      return "could not be started: " + how.not_started;
    case cause_kind::out_of_memory:
      return "was killed since memory had run out";
    case cause_kind::signal:
      return "signal " + std::to_string(how.signal) +
             (how.signal == sigkill ? ", which Muster has not sent" : "");
    default:
      return "exit status " + std::to_string(how.exit_status);
  }
}

}  // namespace

program_cause cause_of(rank_view const& r, rank_end const& how) {
  program_cause c;
  c.kind = kind_of(how);
  c.rank = r.rank;
  c.task = r.task;
  c.host = r.host;
  c.exit_status = how.exit_status;
  c.signal = how.signal;
  c.text = r.task + " on " + r.host + ": " + words(r, how);
  c.stderr_lines = how.stderr_lines;
  return c;
}

program_cause cause_of_loss(rank_view const& gone, rank_view const& r, rank_end const& how) {
  program_cause c;
  c.kind = cause_kind::worker_lost;
  c.rank = gone.rank;
  c.task = gone.task;
  c.host = gone.host;
  c.text = gone.task + " on " + gone.host + ": " + gone.worker + " is out of sight; " + r.task +
           " on " + r.host + " ended after that: " + words(r, how);
  c.stderr_lines = how.stderr_lines;
  return c;
}

program_cause with_trouble(program_cause c, std::optional<coordination_failure> const& told) {
  if (!told) return c;
  auto const line = std::string_view(told->message).substr(0, told->message.find('\n'));
  c.text += "; the coordination service had told: ";
  c.text += line.substr(0, border_at(line, std::min(line.size(), line_bytes_max)));
  c.coordination = told;
  return c;
}

}  // namespace muster::core::programs
