// muster cancel: stop a job or a single closure.
#include <iostream>

#include "cli/command.hpp"
#include "cli/rest.hpp"

namespace muster::cli {
namespace {

struct options : server_options {
  std::string id;
};

int run(options& o) {
  std::string const kind = o.id.starts_with("job_")  ? "jobs"
                           : o.id.starts_with("cl_") ? "closures"
                                                     : "";
  if (kind.empty())
    throw command_error(exit_usage, "'" + o.id + "' is neither a job (job_…) nor a closure (cl_…)");
  rest server(o.rest);
  auto const answer = server.post("/api/v1/" + kind + "/" + percent_encoded(o.id) + "/cancel", {});
  if (!printed_as_json(o.output, answer)) std::cout << o.id << " is asked to stop\n";
  return exit_ok;
}

}  // namespace

void add_cancel(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(app, chosen, "cancel", "Cancel a job or one closure", run);
  add_value(*verb, "id", o->id, "JOB_ID|CLOSURE_ID", "job_… or cl_…")->required();
  add_server_options(*verb, *o);
  verb->footer(
      "Queued closures end at once; running ones are asked to stop.\n"
      "Example:\n  muster cancel job_0000000000000001");
}

}  // namespace muster::cli
