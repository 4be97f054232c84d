// muster cordon, uncordon and drain: stop or resume sending work to a task.
#include <iostream>

#include "cli/actions.hpp"
#include "cli/rest.hpp"
#include "cli/words/targets.hpp"

namespace muster::cli {
namespace {

struct cordon_options : server_options {
  std::string cluster = "default";
  std::string task;
};

int tell(cordon_options const& o, std::string const& order, std::string const& done) {
  rest server(o.rest);
  auto const task = find_target(server, o.task, {target::task}, {.cluster = o.cluster});
  auto const answer = server.post(task.path + "/" + order, {});
  if (!printed_as_json(o.output, answer)) std::cout << task.id << done << '\n';
  return exit_ok;
}

int cordon(cordon_options& o) {
  return tell(o, "cordon", " is cordoned: it receives no new closures until it is uncordoned");
}
int uncordon(cordon_options& o) {
  return tell(o, "uncordon", " is not cordoned");
}
int drain(cordon_options& o) {
  return tell(o, "drain", " was asked to finish its closures and to leave");
}

void add(CLI::App& app, choice& chosen, std::string const& name, std::string const& about,
         int (*run)(cordon_options&), std::string const& more) {
  auto const [verb, o] = add_verb(app, chosen, name, about, run);
  add_value(*verb, "task", o->task, "TASK",
            "A task, for example worker:3, or its host; muster tasks lists tasks")
      ->required();
  add_cluster_option(*verb, o->cluster);
  add_server_options(*verb, *o);
  verb->footer(more + "\nExample:\n  muster " + name + " worker:3");
}

}  // namespace

void add_cordon(CLI::App& app, choice& chosen) {
  add(app, chosen, "cordon", "Send no new closures to a worker until it is uncordoned", cordon,
      "Closures that run on the worker continue. Closures that it has not started move to "
      "other\nworkers. The cordon applies to the task, even if another worker takes its place.");
  add(app, chosen, "uncordon", "Send closures to a cordoned worker again", uncordon,
      "The task receives closures again.");
  add(app, chosen, "drain", "Let a worker finish its closures and then exit", drain,
      "A worker that replaces it receives closures; to prevent that, use muster cordon.");
}

}  // namespace muster::cli
