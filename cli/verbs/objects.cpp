// muster objects: lists, shows or deletes objects on tasks.
#include <iostream>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

struct objects_options : server_options {
  std::vector<std::string> words;
  std::string cluster, task, state;
};

std::string state_and_why(json::value const& o) {
  auto const why = text_of(o, "reason");
  return text_of(o, "state") + (why.empty() ? "" : " (" + why + ")");
}

void list(rest& server, objects_options const& o) {
  auto const all = server.all("/api/v1/objects?" + of_cluster(o.cluster) +
                                  (o.task.empty() ? "" : "&task=" + percent_encoded(o.task)) +
                                  (o.state.empty() ? "" : "&state=" + percent_encoded(o.state)),
                              "objects");
  if (printed_as_json(o.output, all)) return;
  table rows({"ID", "NAME", "CLASS", "TASK", "STATE", right("WAITING"), right("EXECUTING"),
              right("ANSWERED")});
  for (auto const& one : all) {
    auto const& calls = field_of(one, "calls");
    rows.add({text_of(one, "id"), for_terminal(text_of(one, "name")),
              for_terminal(text_of(one, "class")), for_terminal(text_of(one, "task")),
              state_and_why(one), with_thousands(count_of(calls, "waiting")),
              with_thousands(count_of(calls, "executing")),
              with_thousands(count_of(calls, "answered"))});
  }
  rows.print(std::cout);
  if (all.empty()) std::cerr << "no objects found; Python and C++ programs create objects\n";
}

void show(rest& server, std::string const& path, objects_options const& o) {
  auto const one = server.get(path);
  if (printed_as_json(o.output, one)) return;
  auto const line = [](char const* what, std::string const& text) {
    if (!text.empty()) std::cout << what << for_terminal(text) << '\n';
  };
  auto const& calls = field_of(one, "calls");
  line("id       ", text_of(one, "id"));
  line("name     ", text_of(one, "name"));
  line("class    ", text_of(one, "class"));
  line("task     ", text_of(one, "task"));
  line("state    ", state_and_why(one));
  line("because  ", text_of(one, "error"));
  line("session  ",
       text_of(one, "session") +
           (is_true(one, "detached") ? "; the object remains when the session ends" : ""));
  line("creator  ", text_of(one, "submitted_by"));
  line("calls    ", text_of(calls, "waiting") + " waiting, " + text_of(calls, "executing") +
                        " executing (at most " + text_of(one, "concurrency") + " at a time), " +
                        text_of(calls, "answered") + " answered");
  line("failed   ", text_of(one, "last_error"));
}

int run_objects(objects_options& o) {
  parsed_action const words("objects", o.words, {{"list", 0}, {"show", 1}, {"delete", 1}});
  rest server(o.rest);
  if (words.action() == "list") {
    list(server, o);
    return exit_ok;
  }
  auto const& name = words.need(0, "NAME or ID");
  auto const path = "/api/v1/objects/" + percent_encoded(name) + "?" + of_cluster(o.cluster);
  if (words.action() == "show") {
    show(server, path, o);
  } else {
    server.remove(path);
    std::cout << for_terminal(name) << " is deleted\n";
  }
  return exit_ok;
}

}  // namespace

void add_objects(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "objects", "List, show or delete objects on tasks", run_objects);
  add_value(*verb, "action", o->words, "list | show OBJECT | delete OBJECT",
            "What to do, with a name or an id (list)");
  add_value(*verb, "--task", o->task, "TASK",
            "list: only objects of this task (ps:0), or of all tasks of a job (ps)");
  add_value(*verb, "--state", o->state, "STATE",
            "list: only objects in this state (PENDING, STARTING, READY, FAILED, LOST)");
  add_closure_cluster_option(*verb, o->cluster);
  add_server_options(*verb, *o);
  verb->footer(
      "delete fails all unanswered calls. If tokens are required, only the token that created\nan "
      "object and admins can see it.\n"
      "Examples:\n"
      "  muster objects list --task ps --state LOST\n"
      "  muster objects show weights");
}

}  // namespace muster::cli
