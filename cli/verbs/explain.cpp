// muster explain: why a closure waits, moved or failed; of a job, one closure of each state that is
// not at its end.
#include <iostream>

#include "cli/command.hpp"
#include "cli/programs/program.hpp"
#include "cli/progress.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"
#include "cli/waiting_reason.hpp"
#include "cli/words/ids.hpp"

namespace muster::cli {
namespace {

struct explain_options : server_options {
  std::string id;
};

std::string with_name(std::string const& called, std::string const& explanation) {
  return called.empty() ? explanation : for_terminal(called) + ": " + explanation;
}

int explain_job(rest& server, explain_options const& o) {
  auto const job = server.get("/api/v1/jobs/" + percent_encoded(o.id));
  json::array closures;
  for (auto const* state : {"QUEUED", "BLOCKED", "RUNNING", "FAILED"})
    if (auto const found = explain_first(server, o.id, state); !found.text.empty()) {
      json::object closure{{"id", found.id}, {"state", state}, {"explanation", found.text}};
      if (!found.called.empty()) closure["display_name"] = found.called;
      closures.push_back(std::move(closure));
    }
  json::object const out{
      {"id", o.id}, {"state", text_of(job, "state")}, {"closures", std::move(closures)}};
  if (printed_as_json(o.output, out)) return exit_ok;
  std::cout << o.id << " is " << state_of(job);
  auto const& error = field_of(job, "error");
  std::cout << (error.is_null() ? std::string() : ": " + in_full(error)) << '\n';
  for (auto const& c : out.at("closures").as_array())
    std::cout << text_of(c, "id") << ": "
              << with_name(text_of(c, "display_name"), text_of(c, "explanation")) << '\n';
  return exit_ok;
}

int explain_program(rest& server, explain_options const& o) {
  auto const p = server.get("/api/v1/programs/" + percent_encoded(o.id));
  auto why = text_of(p, "waits_for");
  for (auto const& loss : losses_of(p)) why += (why.empty() ? "" : "; ") + loss;
  if (why.empty()) why = text_of(field_of(p, "hang"), "text");
  if (why.empty()) why = text_of(field_of(p, "cause"), "text");
  json::object const out{{"id", o.id}, {"state", text_of(p, "state")}, {"explanation", why}};
  if (printed_as_json(o.output, out)) return exit_ok;
  std::cout << title_of(p) << " is " << text_of(p, "state")
            << (why.empty() ? why : ": " + for_terminal(why)) << '\n';
  return exit_ok;
}

int run_explain(explain_options& o) {
  rest server(o.rest);
  if (o.id.starts_with("job_")) return explain_job(server, o);
  if (o.id.starts_with("prog_")) return explain_program(server, o);
  // A value has the number of the closure that it comes from.
  auto const closure = o.id.starts_with("rv_") ? "cl_" + o.id.substr(3) : o.id;
  if (!closure.starts_with("cl_"))
    throw command_error(
        exit_usage,
        other_id(o.id, "a closure (cl_…), a value (rv_…), a job (job_…) nor a program (prog_…)"));
  auto const answer = server.get("/api/v1/closures/" + percent_encoded(closure) + "/explain");
  if (!printed_as_json(o.output, answer))
    std::cout << with_name(text_of(answer, "display_name"), text_of(answer, "explanation")) << '\n';
  return exit_ok;
}

}  // namespace

void add_explain(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(
      app, chosen, "explain", "Say why a closure, a job or a program waits or failed", run_explain);
  add_value(*verb, "id", o->id, "CLOSURE_ID|VALUE_ID|JOB_ID|PROGRAM_ID",
            "cl_…, or rv_…: its closure; job_…: one closure of each state that waits, runs or "
            "failed; prog_…: what "
            "the program waits for, or ended with")
      ->required();
  add_server_options(*verb, *o);
  verb->footer("Example:\n  muster explain cl_0000000000000001");
}

}  // namespace muster::cli
