// muster explain: why a closure waits, moved or failed.
#include <iostream>

#include "cli/command.hpp"
#include "cli/rest.hpp"

namespace muster::cli {
namespace {

struct options : server_options {
  std::string id;
};

int run(options& o) {
  rest server(o.rest);
  auto const answer = server.get("/api/v1/closures/" + percent_encoded(o.id) + "/explain");
  if (!printed_as_json(o.output, answer)) std::cout << text_of(answer, "explanation") << '\n';
  return exit_ok;
}

}  // namespace

void add_explain(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "explain", "Say why a closure waits, moved or failed", run);
  verb->add_option("id", o->id, "The closure, cl_…")->type_name("CLOSURE_ID")->required();
  add_server_options(*verb, *o);
  verb->footer("Example:\n  muster explain cl_0000000000000001");
}

}  // namespace muster::cli
