// muster tasks: who is here, who is late, who is gone.
#include <iostream>

#include "cli/actions.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"

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

// "8 devices: /job:worker/…/GPU:0, …": names come from agents that tell them.
std::string devices(json::value const& task) {
  auto const& count = field_of(task, "devices");
  if (!count.is_number() || number_of(task, "devices") == 0) return {};
  auto const names = texts_of(task, "device_names");
  return text_of(task, "devices") + " devices" + (names.empty() ? names : ": " + names);
}

// What there is to say about it: why it is not well, or what it waits for, or what it brought.
std::string note(json::value const& task) {
  auto const is = [&](std::string_view key) { return is_true(task, key); };
  if (is("away")) return "away, may come back: " + text_of(task, "error");
  if (is("given_up")) return "given up: " + text_of(task, "error");
  if (is("draining")) return "draining";
  if (is("cordoned")) return "cordoned: nothing new until muster uncordon";
  if (!field_of(task, "starts_ms").is_null()) return "starts later (--start-delay)";
  auto const& error = field_of(task, "error");
  if (error.is_string()) return std::string(error.get_string());
  if (!error.is_null()) {
    return (is_true(error, "casualty") ? "(casualty) " : "") + text_of(error, "code") + ": " +
           text_of(error, "message");
  }
  if (auto const late = text_of(task, "late_for"); !late.empty())
    return "others wait for it at barrier " + late;
  if (is_true(task, "unheard")) return "not heard of since the server's restart";
  auto const waits = texts_of(task, "waiting_for");
  return waits.empty() ? devices(task) : "waits for " + waits;
}

// Agents have no closures: those columns are a worker's.
std::string count(json::value const& task, std::string_view key) {
  return is_agent(task) ? "-" : text_of(task, key);
}

// A task that was connected before a restart of the server, and has not been heard of since.
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
              for_terminal(note(task), 80)});
  rows.print(std::cout);
  if (all.empty()) std::cerr << "no such task; closure workers are started with 'muster worker'\n";
  return exit_ok;
}

}  // namespace

void add_tasks(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "tasks", "List the tasks of a cluster and their health", run_tasks);
  add_cluster_option(*verb, o->cluster);
  add_value(*verb, "--state", o->state, "MISSING|REGISTERING|CONNECTED|LATE|ERROR|DISCONNECTED",
            "Only tasks in this state");
  add_value(*verb, "--job", o->job, "JOB", "Only tasks of this job, such as worker");
  add_server_options(*verb, *o);
  verb->footer("Examples:\n  muster tasks\n  muster tasks --state ERROR --output json");
}

}  // namespace muster::cli
