// muster explain: explains why a closure is waiting, was moved or failed. For a job, explains one
// closure of each unfinished state.
#include <iostream>

#include "cli/actions.hpp"
#include "cli/command.hpp"
#include "cli/programs/program_lookup.hpp"
#include "cli/progress.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"
#include "cli/task_remark.hpp"
#include "cli/waiting_reason.hpp"
#include "cli/words/targets.hpp"

namespace muster::cli {
namespace {

struct explain_options : server_options {
  std::string id, cluster;
};

constexpr std::initializer_list<target> explained{target::closure, target::value,  target::job,
                                                  target::program, target::object, target::task};

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

int explain_state(rest& server, explain_options const& o, found_target const& what) {
  auto const one = server.get(
      what.path + (what.kind == target::object ? "?" + of_cluster(o.cluster) : std::string()));
  auto const why = what.kind == target::object ? text_of(one, "error") : remark_on_task(one);
  json::object const out{{"id", what.id}, {"state", text_of(one, "state")}, {"explanation", why}};
  if (printed_as_json(o.output, out)) return exit_ok;
  std::cout << for_terminal(what.id) << " is " << text_of(one, "state")
            << (why.empty() ? why : ": " + for_terminal(why)) << '\n';
  return exit_ok;
}

int run_explain(explain_options& o) {
  rest server(o.rest);
  auto const what = find_target(server, o.id, explained, {.cluster = o.cluster});
  o.id = what.id;
  if (what.kind == target::job) return explain_job(server, o);
  if (what.kind == target::program) return explain_program(server, o);
  if (what.kind == target::object || what.kind == target::task)
    return explain_state(server, o, what);
  // A value's ID has the number of its closure's ID.
  auto const closure = what.kind == target::value ? "cl_" + o.id.substr(3) : o.id;
  auto const answer = server.get("/api/v1/closures/" + percent_encoded(closure) + "/explain");
  if (!printed_as_json(o.output, answer))
    std::cout << with_name(text_of(answer, "display_name"), text_of(answer, "explanation")) << '\n';
  return exit_ok;
}

}  // namespace

void add_explain(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "explain",
               "Explain why a closure, job or program is waiting or has failed", run_explain);
  add_value(*verb, "id", o->id, target_words(explained),
            "Id or name. For a value, its closure is explained; for a job, one closure of each "
            "state; for a program, what it waits for or why it ended; for an object or a task "
            "(worker:3, or its host), its state")
      ->required();
  add_closure_cluster_option(*verb, o->cluster);
  add_server_options(*verb, *o);
  verb->footer("Examples:\n  muster explain cl_0000000000000001\n  muster explain train");
}

}  // namespace muster::cli
