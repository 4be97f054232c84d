// muster retry: what failed or was cancelled in a job, as a new job.
#include <iostream>

#include "cli/command.hpp"
#include "cli/rest.hpp"

namespace muster::cli {
namespace {

struct options : server_options {
  std::string id, name;
};

int run(options& o) {
  rest server(o.rest);
  json::object body;
  if (!o.name.empty()) body["name"] = o.name;
  auto const answer = server.post("/api/v1/jobs/" + percent_encoded(o.id) + "/retry",
                                  o.name.empty() ? std::string() : json::serialize(body));
  if (!printed_as_json(o.output, answer)) std::cout << text_of(answer, "id") << '\n';
  return exit_ok;
}

}  // namespace

void add_retry(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(
      app, chosen, "retry", "Run what failed or was cancelled in a job again, as a new job", run);
  add_value(*verb, "id", o->id, "JOB_ID", "A job that has ended")->required();
  add_value(*verb, "--name", o->name, "NAME", "Name of the new job; the old one's unless told");
  add_server_options(*verb, *o);
  verb->footer(
      "Prints the new job's id. Closures keep their arguments and options; inputs that succeeded\n"
      "are not made again.\n"
      "Example:\n  muster fetch $(muster retry job_0000000000000001)");
}

}  // namespace muster::cli
