#include "cli/programs/attempt_text.hpp"

#include <sstream>

#include "cli/programs/program_lookup.hpp"
#include "cli/programs/stacks.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

// The dashboard and --output json show the absolute time.
std::string since(json::value const& a, std::int64_t at) {
  auto const ms = at - number_of(a, "begun_ms");
  auto const tenths = (ms + 50) / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + "s";
}

void print_lines(json::value const& rank, std::string_view stream, std::ostream& to) {
  auto const& lines = list_of(rank, stream);
  if (lines.empty()) return;
  to << "  " << stream << ":\n";
  for (auto const& line : lines)
    to << "    " << for_terminal(std::string(line.as_string())) << '\n';
}

void print_events(json::value const& a, std::ostream& to) {
  if (list_of(a, "events").empty()) return;
  to << "\nwhat happened\n";
  table rows({right("AFTER"), "WHAT", "ABOUT", "TEXT"});
  for (auto const& e : list_of(a, "events"))
    rows.add({since(a, number_of(e, "at_ms")), text_of(e, "kind"),
              rank_label_of(e, "rank", "about"), for_terminal(text_of(e, "text"), 120)});
  rows.print(to);
}

void print_barriers(json::value const& a, std::ostream& to) {
  if (list_of(a, "barriers").empty()) return;
  to << "\nbarriers, newest first\n";
  table rows({right("AFTER"), "BARRIER", right("RANKS"), "LAST", "HOST", right("LATE MS")});
  for (auto const& b : list_of(a, "barriers"))
    rows.add({since(a, number_of(b, "ended_ms")), for_terminal(text_of(b, "id"), 40),
              text_of(b, "participants"), rank_label_of(b, "last_rank", "last"),
              for_terminal(text_of(b, "host")), text_of(b, "late_ms")});
  rows.print(to);
  if (list_of(a, "latecomers").empty()) return;
  to << "\nlate ranks at barriers\n";
  table tasks({"RANK", "HOST", right("LAST"), right("OF"), right("MEAN MS"), right("MAX MS")});
  for (auto const& l : list_of(a, "latecomers"))
    tasks.add({rank_label_of(l), for_terminal(text_of(l, "host")), text_of(l, "last"),
               text_of(l, "barriers"), text_of(l, "late_mean_ms"), text_of(l, "late_max_ms")});
  tasks.print(to);
}

void print_ends(json::value const& a, std::ostream& to) {
  if (list_of(a, "ended").empty()) return;
  to << "\nexited ranks\n";
  for (auto const& r : list_of(a, "ended")) {
    to << rank_label_of(r) << " on " << for_terminal(text_of(r, "host")) << ", after "
       << since(a, number_of(r, "ended_ms")) << ": " << for_terminal(how_it_ended(r))
       << (is_true(r, "stopped") ? ", stopped" : "")
       << (is_true(r, "lease_ran_out") ? ", its lease ran out" : "") << '\n';
    print_lines(r, "stderr", to);
    print_lines(r, "stdout", to);
  }
}

}  // namespace

std::string how_it_ended(json::value const& rank) {
  if (auto const why = text_of(rank, "not_started"); !why.empty()) return why;
  if (auto const signal = number_of(rank, "signal"); signal > 0)
    return "signal " + std::to_string(signal);
  return text_of(rank, "ended_ms").empty() ? "" : "status " + text_of(rank, "exit_status");
}

std::string attempt_text(json::value const& a) {
  std::ostringstream to;
  auto const ended = number_of(a, "ended_ms");
  to << "attempt  " << text_of(a, "attempt") << ", " << text_of(a, "ranks")
     << (number_of(a, "ranks") == 1 ? " rank on " : " ranks on ") << text_of(a, "hosts")
     << (number_of(a, "hosts") == 1 ? " host" : " hosts") << '\n'
     << "end      " << (ended > 0 ? text_of(a, "end") + " after " + since(a, ended) : "none yet")
     << '\n';
  if (auto const cause = cause_of(a); !cause.empty()) to << "because  " << cause << '\n';
  print_events(a, to);
  if (auto const& groups = list_of(a, "stacks"); !groups.empty())
    to << "\nstacks of killed ranks\n" << groups_text(groups);
  print_barriers(a, to);
  print_ends(a, to);
  for (auto const* what : {"events", "stacks", "ranks"})
    if (auto const n = number_of(a, std::string(what) + "_left_out"); n > 0)
      to << n << " more " << what << " exceeded the limit\n";
  return to.str();
}

}  // namespace muster::cli
