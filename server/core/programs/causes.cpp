#include "server/core/programs/causes.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "base/rank_label.hpp"
#include "base/utf8.hpp"

namespace muster::core::programs {
namespace {

constexpr std::uint32_t sigkill = 9;
constexpr std::size_t line_bytes_max =
    240;  // maximum length of a message from the coordination service

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
      return r.worker + " was disconnected for longer than --program-lease";
    case cause_kind::worker_left:
      return r.worker + " left the cluster and stopped the rank";
    case cause_kind::not_started:
      return "could not be started: " + how.not_started;
    case cause_kind::out_of_memory:
      return how.signal != 0
                 ? "was killed because memory was exhausted"
                 : "one of its processes was killed because memory was exhausted; exit status " +
                       std::to_string(how.exit_status);
    case cause_kind::signal:
      return "signal " + std::to_string(how.signal) +
             (how.signal == sigkill ? ", not sent by Muster" : "");
    default:
      return "exit status " + std::to_string(how.exit_status);
  }
}

std::string name_of(rank_view const& r) {
  auto name = rank_label(r.rank, r.task);
  if (!r.worker.empty()) name += " on " + r.worker;
  return name + (r.worker.empty() ? " on " + r.host : " (" + r.host + ")");
}

std::string seconds(duration d) {
  auto const tenths = std::chrono::duration_cast<std::chrono::milliseconds>(d).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

std::string first_line(std::string_view text) {
  auto const line = text.substr(0, text.find('\n'));
  return std::string(line.substr(0, utf8_boundary(line, std::min(line.size(), line_bytes_max))));
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
  c.text = name_of(r) + ": " + words(r, how);
  c.stderr_lines = how.stderr_lines;
  return c;
}

program_cause cause_of_loss(rank_view const& gone, program_cause then) {
  program_cause c;
  c.kind = cause_kind::worker_lost;
  c.rank = gone.rank;
  c.task = gone.task;
  c.host = gone.host;
  c.text = name_of(gone) + ": " + gone.worker + " is disconnected; after that, " + then.text;
  c.stderr_lines = std::move(then.stderr_lines);
  c.coordination = std::move(then.coordination);
  return c;
}

void note_earlier_exit(program_cause& c, rank_view const& left, time_point now) {
  c.text +=
      "; " + name_of(left) + " had exited with status 0 " + seconds(now - left.ended) + " before";
}

// The rank may already have been asked to end, so a signal may come from Muster. A rank that hangs
// was asked in any case.
void note_end(program_cause& c, rank_end const& how) {
  if (c.kind == cause_kind::hang) {
    c.stderr_lines = how.stderr_lines;
  } else if (how.signal == 0 && how.exit_status != 0) {
    c.exit_status = how.exit_status;
    c.stderr_lines = how.stderr_lines;
  }
}

program_cause cause_of_failed_task(rank_view const& failed, coordination_failure const& told,
                                   rank_view const& r, rank_end const& how) {
  program_cause c;
  c.kind = cause_kind::coordination;
  c.rank = failed.rank;
  c.task = failed.task;
  c.host = failed.host;
  c.text = name_of(failed) + ": " +
           (failed.state == rank_state::succeeded
                ? "exited with status 0 without disconnecting from the coordination service"
                : first_line(told.message)) +
           "; " + name_of(r) + " ended after that: " + words(r, how);
  c.coordination = told;
  return c;
}

program_cause cause_of(hang const& what) {
  program_cause c;
  c.kind = cause_kind::hang;
  c.rank = what.rank;
  c.task = what.task;
  c.host = what.host;
  c.text = text(what);
  c.hang = what;
  return c;
}

program_cause with_coordination_failure(program_cause c,
                                        std::optional<coordination_failure> const& told) {
  if (!told || c.coordination) return c;
  c.text += "; the coordination service had reported: " + first_line(told->message);
  c.coordination = told;
  return c;
}

}  // namespace muster::core::programs
