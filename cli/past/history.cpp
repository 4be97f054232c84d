// muster history: past activity of the server and its workers, including times before the server's
// last start.
#include <algorithm>
#include <iostream>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/command.hpp"
#include "cli/past/moments.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

struct history_options : server_options {
  time_range when;
  std::string cluster;
  std::size_t steps = 30;
};

std::string rounded_number(json::value const& list, std::size_t i) {
  auto const* const all = list.if_array();
  if (!all || i >= all->size()) return {};
  auto const v = (*all)[i].to_number<double>();
  auto const tenths = static_cast<std::int64_t>(v * 10 + 0.5);
  return v < 100 && tenths % 10 != 0
             ? std::to_string(tenths / 10) + "." + std::to_string(tenths % 10)
             : with_thousands(static_cast<std::uint64_t>((tenths + 5) / 10));
}

void print_charts(json::value const& samples) {
  auto const& times = list_of(samples, "t");
  table rows({"UNTIL", right("QUEUED"), right("RUNNING"), right("ENDED/S"), right("FAILED/S"),
              right("WAIT P99 MS"), right("RUN P99 MS"), right("HEARTBEAT MS")});
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::vector<std::string> cells{local_time(times[i].to_number<std::int64_t>())};
    for (auto const* column :
         {"queued", "running", "finished", "failed", "wait_p99_ms", "run_p99_ms", "hb_p99"})
      cells.push_back(rounded_number(field_of(samples, column), i));
    rows.add(std::move(cells));
  }
  rows.print(std::cout);
  if (times.empty())
    std::cout << "no samples are stored for that time; a server takes the first sample 10 s after "
                 "its start\n";
}

std::uint64_t sum(json::array const& all) {
  std::uint64_t n = 0;
  for (auto const& one : all) n += static_cast<std::uint64_t>(one.to_number<double>());
  return n;
}

void print_stream(json::value const& stream) {
  if (list_of(stream, "tasks").empty()) return;
  std::cout << "\nworkers of cluster " << for_terminal(text_of(stream, "cluster")) << '\n';
  table tasks({"TASK", right("ENDED"), right("FAILED"), right("BUSY")});
  for (auto const& t : list_of(stream, "tasks"))
    tasks.add({text_of(t, "task"), with_thousands(sum(list_of(t, "ended"))),
               with_thousands(sum(list_of(t, "failed"))),
               rounded(std::chrono::milliseconds(sum(list_of(t, "busy_ms"))))});
  tasks.print(std::cout);
  std::cout << "\nfunctions\n";
  table functions({"FUNCTION", right("ENDED"), right("FAILED"), right("BUSY")});
  for (auto const& f : list_of(stream, "functions")) {
    auto const name = text_of(f, "name");
    functions.add({name.empty() ? "several" : for_terminal(name, 48),
                   with_thousands(count_of(f, "ended")), with_thousands(count_of(f, "failed")),
                   rounded(std::chrono::milliseconds(number_of(f, "busy_ms")))});
  }
  functions.print(std::cout);
}

void say_if_cut(json::value const& answer, char const* what) {
  if (auto const until = number_of(answer, "until_ms"); until > 0)
    std::cerr << what << " are shown only until " << local_time(until) << '\n';
}

// A token restricted to one cluster cannot read the overview and gets no warning.
void warn_of_missing(rest& server) {
  auto const answer = server.send("GET", "/api/v1/overview");
  if (!answer.ok()) return;
  boost::system::error_code error;
  auto const overview = json::parse(answer.body, error);
  if (error) return;
  auto const& durable = field_of(overview, "durable");
  auto const missing = count_of(durable, "history_dropped");
  if (missing == 0) return;
  auto const unreadable = count_of(durable, "history_unreadable");
  std::cerr << "warning: " << with_thousands(missing) << " history records are missing ("
            << with_thousands(unreadable) << " cannot be read, "
            << with_thousands(missing - std::min(missing, unreadable)) << " were not written)\n";
}

int run_history(history_options& o) {
  rest server(o.rest);
  if (o.when.from.empty()) o.when.from = "1h";
  auto const when = o.when.query(server) + "steps=" + std::to_string(o.steps);
  auto const samples = server.get("/api/v1/samples?" + when);
  auto const stream = server.get("/api/v1/history/stream?" + when + "&" + of_cluster(o.cluster));
  warn_of_missing(server);
  if (o.output == output_format::json) {
    json::object const both{{"samples", samples}, {"stream", stream}};
    std::cout << json::serialize(both) << '\n';
    return exit_ok;
  }
  print_charts(samples);
  print_stream(stream);
  // A complete answer ends at most one step before the range ends.
  auto const asked = o.when.to.empty() ? std::int64_t{0} : moment(server, "--to", o.when.to);
  for (auto const& [answer, what] : {std::pair(&samples, "charts"), std::pair(&stream, "workers")})
    if (asked > 0 && number_of(*answer, "until_ms") < asked) say_if_cut(*answer, what);
  return exit_ok;
}

}  // namespace

void add_history(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "history", "Print what the server and its workers did in a time range",
               run_history);
  add_time_range(*verb, o->when, "Print charts and the activity of workers");
  add_number(*verb, "--steps", o->steps, "Maximum number of chart lines, at most 1000", 1, 1000)
      ->capture_default_str();
  add_closure_cluster_option(*verb, o->cluster);
  add_server_options(*verb, *o);
  verb->footer(
      "Prints the last hour by default. The history on disk also covers earlier server "
      "processes.\nFor the events of a time range, see events --from, jobs --from and clusters "
      "runs.\n"
      "Example:\n"
      "  muster history --from 03:00 --to 03:30");
}

}  // namespace muster::cli
