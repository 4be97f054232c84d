// muster trace: saves the activity of workers, for a job or a time range, as a file for Perfetto or
// Chrome.
#include <fstream>
#include <iostream>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/command.hpp"
#include "cli/past/moments.hpp"
#include "cli/rest.hpp"
#include "cli/words/targets.hpp"

namespace muster::cli {
namespace {

struct trace_options {
  rest_options rest;
  time_range when;
  std::string job, cluster, file;
};

std::string path_of(rest& server, trace_options const& o) {
  bool const span = o.when.given();
  if (o.job.empty() != span)
    throw command_error(exit_usage,
                        span ? "pass a job, or a time range with --from and --to, not both"
                             : "pass a job, or a time range with --from");
  if (!span)
    return find_target(server, o.job, {target::job}, {.cluster = o.cluster}).path + "/trace";
  return "/api/v1/stream/trace?" + o.when.query(server) + of_cluster(o.cluster);
}

int run_trace(trace_options& o) {
  rest server(o.rest);
  auto const path = path_of(server, o);
  std::ofstream file;
  auto& to = o.file.empty() ? std::cout : static_cast<std::ostream&>(file);
  server.stream(path, [&](std::string_view line) {
    // The file is opened only when there is data, so that an existing file is kept if the server
    // refuses the request.
    if (!o.file.empty() && !file.is_open()) file.open(o.file, std::ios::binary);
    to << line << '\n';
    return to.good();
  });
  to.flush();
  if (!to) throw command_error(exit_failed, "cannot write the complete trace to " + o.file);
  if (!o.file.empty()) std::cerr << o.file << ": open it with https://ui.perfetto.dev\n";
  return exit_ok;
}

}  // namespace

void add_trace(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "trace",
               "Save the activity of workers as a trace for Perfetto or Chrome", run_trace);
  add_value(*verb, "job", o->job, "JOB",
            "Id or name of a job; all attempts of its closures are saved");
  add_time_range(*verb, o->when, "Without a job: save the activity of workers");
  add_value(*verb, "-o,--file", o->file, "FILE", "File to write (default: standard output)");
  add_closure_cluster_option(*verb, o->cluster);
  add_rest_options(*verb, o->rest);
  verb->footer(
      "A trace of the last hour has a bar for each closure, and one bar for closures shorter than\n"
      "1 ms. For older times, the trace contains totals per minute.\n"
      "Examples:\n"
      "  muster trace job_0000000000000001 -o trace.json\n"
      "  muster trace --from 10m --to 5m -o trace.json");
}

}  // namespace muster::cli
