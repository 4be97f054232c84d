// muster tasks: lists tasks with their state.
#include <iostream>

#include "cli/actions.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"
#include "cli/task_remark.hpp"

namespace muster::cli {
namespace {

struct tasks_options : server_options {
  std::string cluster = "default";
  std::string state, job;
};

std::string query(tasks_options const& o) {
  auto text = "/api/v1/clusters/" + percent_encoded(o.cluster) + "/tasks?";
  if (!o.state.empty()) text += "&state=" + percent_encoded(o.state);
  if (!o.job.empty()) text += "&job=" + percent_encoded(o.job);
  return text;
}

bool is_agent(json::value const& task) {
  return text_of(task, "kind") == "agent";
}

// Only workers have closure counts; agents do not.
std::string count(json::value const& task, std::string_view key) {
  return is_agent(task) ? "-" : text_of(task, key);
}

// Returns whether a task that was connected before a server restart has not reported since.
bool is_unheard(json::value const& task) {
  return is_true(task, "unheard") && text_of(task, "state") == "CONNECTED";
}

std::string age(json::value const& task) {
  if (field_of(task, "heartbeat_age_ms").is_null()) return "never";
  return rounded(std::chrono::milliseconds(number_of(task, "heartbeat_age_ms")));
}

int run_tasks(tasks_options& o) {
  rest server(o.rest);
  auto const all = server.all(query(o), "tasks");
  if (printed_as_json(o.output, all)) return exit_ok;
  table rows({"TASK", "STATE", "KIND", right("HEARTBEAT"), "HOST", "VERSION", right("SLOTS"),
              right("RUNNING"), right("FINISHED"), right("FAILED"), "REMARK"});
  for (auto const& task : all)
    rows.add({text_of(task, "job") + ":" + text_of(task, "index"),
              is_unheard(task) ? "UNHEARD" : text_of(task, "state"), text_of(task, "kind"),
              age(task), for_terminal(text_of(task, "host"), 24),
              for_terminal(text_of(task, "version"), 24), count(task, "slots"),
              count(task, "running"), count(task, "finished"), count(task, "failed"),
              for_terminal(remark_on_task(task), 80)});
  rows.print(std::cout);
  if (all.empty()) std::cerr << "no tasks found; start a worker with 'muster worker'\n";
  return exit_ok;
}

}  // namespace

void add_tasks(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "tasks", "List the tasks of a cluster and their health", run_tasks);
  add_cluster_option(*verb, o->cluster);
  add_value(*verb, "--state", o->state, "MISSING|REGISTERING|CONNECTED|LATE|ERROR|DISCONNECTED",
            "List only tasks in this state");
  add_value(*verb, "--role,--job", o->job, "ROLE", "List only tasks of this role, such as worker");
  add_server_options(*verb, *o);
  verb->footer("Examples:\n  muster tasks\n  muster tasks --state ERROR --output json");
}

}  // namespace muster::cli
