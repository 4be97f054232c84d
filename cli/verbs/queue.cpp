// muster queue: lists waiting closures, gangs and programs in the order in which they start.
#include <algorithm>
#include <chrono>
#include <iostream>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

struct queue_options : server_options {
  std::string cluster;
  std::size_t limit = 50;
};

constexpr std::size_t what_width = 48, why_width = 90;

// Returns "gang g", the name of a program, or the functions of closures.
std::string waiting_name(json::value const& e) {
  auto const kind = text_of(e, "kind");
  if (kind == "program") return "program " + text_of(e, "name");
  if (kind == "gang") return "gang " + text_of(e, "gang");
  std::string names;
  for (auto const& f : list_of(e, "functions"))
    names += (names.empty() ? "" : ", ") + text_of(f, "name");
  return names;
}

std::string waiting_time(json::value const& e) {
  using namespace std::chrono;
  auto const now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  return rounded(milliseconds(std::max<std::int64_t>(0, now - number_of(e, "since_ms"))));
}

// The server omits numbers that it had no time to determine.
std::string number_or_dash(json::value const& e, char const* name) {
  return field_of(e, name).is_null() ? "-" : with_thousands(count_of(e, name));
}

int run_queue(queue_options& o) {
  rest server(o.rest);
  bool more = false;
  auto const all = server.some("/api/v1/queue?" + of_cluster(o.cluster), "queue", o.limit, &more);
  if (printed_as_json(o.output, all)) return exit_ok;
  table rows({right("NEXT"), "WHAT", right("WANTED"), right("FREE"), right("WORKERS"),
              right("WAITING"), "WHY"});
  for (auto const& e : all)
    rows.add({number_or_dash(e, "position"), for_terminal(waiting_name(e), what_width),
              with_thousands(count_of(e, "wanted")), number_or_dash(e, "free"),
              number_or_dash(e, "workers"), waiting_time(e),
              for_terminal(text_of(e, "why"), why_width)});
  rows.print(std::cout);
  if (all.empty()) std::cerr << "nothing waits for a worker\n";
  if (more) std::cerr << "there are more entries; raise --limit to see them\n";
  return exit_ok;
}

}  // namespace

void add_queue(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "queue", "List waiting closures, gangs and programs, and why they wait",
               run_queue);
  add_count(*verb, "--limit", o->limit, "Maximum number of entries to list", 1);
  add_closure_cluster_option(*verb, o->cluster);
  add_server_options(*verb, *o);
  verb->footer(
      "NEXT is the place in the order in which entries start; - means that no connected worker "
      "can run the entry.\n"
      "WANTED and FREE are slots; for a program, ranks.\n"
      "Examples:\n  muster queue\n  muster queue --output json | jq -r '.[].why'");
}

}  // namespace muster::cli
