// muster functions: lists the functions that workers provide.
#include <algorithm>
#include <iostream>
#include <map>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

struct functions_options : server_options {
  std::string cluster;
  std::size_t limit = 1000;
};

// Describes the arguments of bundled functions, because servers store only the names.
std::string arguments_of(std::string const& function) {
  static std::map<std::string, char const*> const known = {
      {"muster.noop", ""},
      {"muster.echo", "VALUE"},
      {"muster.sleep", "MILLISECONDS or \"250ms\""},
      {"muster.fail", "MESSAGE"},
      {"muster.worker_info", ""},
      {"text.word_count", "PATH of a file of the worker"},
      {"muster.exec", "[COMMAND, ARGUMENT, …] env= cwd= stdin= check="}};
  auto const found = known.find(function);
  return found == known.end() ? "" : found->second;
}

int run_functions(functions_options& o) {
  rest server(o.rest);
  bool more = false;
  auto const all =
      server.some("/api/v1/functions?" + of_cluster(o.cluster), "functions", o.limit, &more);
  if (printed_as_json(o.output, all)) return exit_ok;
  table rows({"FUNCTION", right("WORKERS"), right("WAITING"), right("RUNNING"), right("SUCCEEDED"),
              right("FAILED"), "ARGUMENTS"});
  for (auto const& f : all) {
    auto const name = text_of(f, "name");
    rows.add({for_terminal(name, 60), text_of(f, "workers"),
              with_thousands(count_of(f, "waiting") + count_of(f, "queued")),
              with_thousands(count_of(f, "running")), with_thousands(count_of(f, "succeeded")),
              with_thousands(count_of(f, "failed")), arguments_of(name)});
  }
  rows.print(std::cout);
  if (all.empty()) std::cerr << "no worker has connected yet; start one with 'muster worker'\n";
  if (more) std::cerr << "there are more functions; raise --limit to see them\n";
  return exit_ok;
}

}  // namespace

void add_functions(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "functions", "List the functions that workers provide", run_functions);
  add_count(*verb, "--limit", o->limit, "Maximum number of entries to list", 1);
  add_closure_cluster_option(*verb, o->cluster);
  add_server_options(*verb, *o);
  verb->footer(
      "Functions of every bundled worker:\n"
      "  muster.noop                   does nothing\n"
      "  muster.echo VALUE             returns the value\n"
      "  muster.sleep TIME             sleeps for a number of milliseconds, or a duration such as "
      "250ms\n"
      "  muster.fail MESSAGE           fails with this message\n"
      "  muster.worker_info            returns the task, host, process and slots of its worker\n"
      "  text.word_count PATH          counts the words (letters a to z) in a file of the worker\n"
      "  muster.exec '[\"COMMAND\", …]'  runs a program (worker --allow-exec); see 'submit "
      "--check'\n"
      "Examples:\n  muster functions\n  muster functions --output json | jq -r '.[].name'");
}

}  // namespace muster::cli
