// muster tasks: who is here, who is late, who is gone.
#include <iostream>

#include "server/cli/command.hpp"
#include "server/cli/rest.hpp"
#include "server/cli/table.hpp"

namespace muster::cli {
namespace {

struct options {
  rest_options rest;
  std::string cluster = "default";
  std::string state, job;
  output_format output = output_format::table;
};

std::string query(options const& o, std::string const& page) {
  auto text = "/api/v1/clusters/" + url_encoded(o.cluster) + "/tasks?limit=1000";
  if (!o.state.empty()) text += "&state=" + url_encoded(o.state);
  if (!o.job.empty()) text += "&job=" + url_encoded(o.job);
  if (!page.empty()) text += "&page_token=" + url_encoded(page);
  return text;
}

std::string age(json::value const& task) {
  return rounded(std::chrono::milliseconds(number_of(task, "heartbeat_age_ms")));
}

int run(options& o) {
  rest server(o.rest);
  json::array all;
  std::string page;
  do {
    auto const answer = server.get(query(o, page));
    for (auto const& task : list_of(answer, "tasks")) all.push_back(task);
    page = text_of(answer, "next_page_token");
  } while (!page.empty());

  if (o.output == output_format::json) {
    std::cout << json::serialize(all) << '\n';
    return exit_ok;
  }
  table rows({{"TASK"},
              {"STATE"},
              {"HEARTBEAT", true},
              {"HOST"},
              {"SLOTS", true},
              {"RUNNING", true},
              {"FINISHED", true},
              {"FAILED", true},
              {"ERROR"}});
  for (auto const& task : all)
    rows.add({text_of(task, "job") + ":" + text_of(task, "index"), text_of(task, "state"),
              age(task), for_terminal(text_of(task, "host"), 24), text_of(task, "slots"),
              text_of(task, "running"), text_of(task, "finished"), text_of(task, "failed"),
              for_terminal(text_of(task, "error"), 80)});
  rows.print(std::cout);
  if (all.empty()) std::cerr << "no task yet; start one with 'muster worker'\n";
  return exit_ok;
}

}  // namespace

void add_tasks(CLI::App& app, choice& chosen) {
  auto* verb = app.add_subcommand("tasks", "List the tasks of a cluster and their health");
  auto o = std::make_shared<options>();
  verb->add_option("--cluster", o->cluster, "Name of the cluster")
      ->type_name("NAME")
      ->capture_default_str();
  verb->add_option("--state", o->state, "Only CONNECTED, LATE, ERROR or DISCONNECTED ones")
      ->type_name("STATE");
  verb->add_option("--job", o->job, "Only tasks of this job, such as worker")->type_name("JOB");
  add_output_option(*verb, o->output);
  add_rest_options(*verb, o->rest);
  verb->footer("Examples:\n  muster tasks\n  muster tasks --state ERROR --output json");
  on_chosen(*verb, chosen, o, run);
}

}  // namespace muster::cli
