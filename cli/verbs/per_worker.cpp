// muster per-worker: creates, shows and releases values that each worker builds for itself.
#include <iostream>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/job_submission.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"
#include "cli/words/targets.hpp"

namespace muster::cli {
namespace {

struct per_worker_options : server_options {
  CLI::App* verb = nullptr;
  std::vector<std::string> const* literal = nullptr;
  std::string action;
  std::string name, cluster;
};

std::string const values = "/api/v1/per_worker_values";

std::string in_short_of(json::value const& v) {
  std::map<std::string, std::size_t> counts;
  for (auto const& part : list_of(v, "components")) {
    auto const status = text_of(part, "status");
    bool const failed = status == "READY" && !field_of(part, "error").is_null();
    ++counts[failed ? "failed" : status];
  }
  std::string text;
  for (auto const& [status, n] : counts)
    text += (text.empty() ? "" : ", ") + with_thousands(n) + " " + status;
  return text.empty() ? "no worker provides the function" : text;
}

void list(rest& server, per_worker_options const& o) {
  auto const all = server.all(values + "?" + of_cluster(o.cluster), "per_worker_values");
  if (printed_as_json(o.output, all)) return;
  table rows({"ID", "NAME", "FUNCTION", right("USERS"), "WORKERS"});
  for (auto const& v : all)
    rows.add({text_of(v, "id"), text_of(v, "name"), text_of(v, "function"), text_of(v, "users"),
              in_short_of(v)});
  rows.print(std::cout);
  if (all.empty())
    std::cerr << "no value yet; create one with 'muster per-worker create FUNCTION'\n";
}

void print_value(json::value const& v, output_format output) {
  if (printed_as_json(output, v)) return;
  auto const owner = text_of(v, "job");
  std::cout << "id        " << text_of(v, "id") << '\n'
            << "name      " << for_terminal(text_of(v, "name")) << '\n'
            << "built by  " << for_terminal(text_of(v, "function")) << ' '
            << json::serialize(field_of(v, "args")) << '\n'
            << "owner     "
            << (owner.empty() ? "none: the value remains until it is released" : owner) << '\n'
            << "used by   " << text_of(v, "users") << " unfinished closures\n";
  table rows({"TASK", "STATUS", "REASON"});
  for (auto const& part : list_of(v, "components")) {
    auto const& error = field_of(part, "error");
    auto const behind = text_of(part, "queued_behind");
    rows.add({text_of(part, "task"), text_of(part, "status"),
              !error.is_null()  ? for_terminal(in_short(error))
              : !behind.empty() ? "queued behind " + for_terminal(behind)
                                : ""});
  }
  rows.print(std::cout);
}

void create(rest& server, parsed_action const& words, per_worker_options const& o) {
  json::object body{{"function", words.need(0, "FUNCTION")}};
  if (!o.name.empty()) body["name"] = o.name;
  if (!o.cluster.empty()) body["cluster"] = o.cluster;
  auto& args = body["args"].emplace_array();
  for (std::size_t i = 1; i < words.rest().size(); ++i) args.push_back(argument(words.rest()[i]));
  auto const v = server.post(values, json::serialize(body));
  if (!printed_as_json(o.output, v)) std::cout << text_of(v, "id") << '\n';
}

int run_per_worker(per_worker_options& o) {
  auto all = remaining_arguments(*o.verb, *o.literal);
  if (!o.action.empty()) all.insert(all.begin(), o.action);
  parsed_action const words("per-worker", all,
                            {{"list", 0}, {"create"}, {"show", 1}, {"release", 1}});
  rest server(o.rest);
  auto const path = [&] {
    return find_target(server, words.need(0, "NAME or ID"), {target::per_worker},
                       {.cluster = o.cluster})
        .path;
  };
  if (words.action() == "create") {
    create(server, words, o);
    return exit_ok;
  }
  if (words.action() == "list") {
    list(server, o);
  } else if (words.action() == "show") {
    print_value(server.get(path()), o.output);
  } else {
    server.remove(path());
    std::cout << words.rest()[0] << " is released\n";
  }
  return exit_ok;
}

}  // namespace

void add_per_worker(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(
      app, chosen, "per-worker", "List, create, show or release per-worker values", run_per_worker);
  o->verb = verb;
  o->literal = &chosen.literal;
  verb->allow_extras();
  add_value(*verb, "action", o->action, "list | create FUNCTION [ARG…] | show ID | release ID",
            "Action (default: list)");
  add_value(*verb, "--name", o->name, "NAME", "create: name shown in listings");
  add_closure_cluster_option(*verb, o->cluster);
  add_server_options(*verb, *o);
  verb->footer(
      "Each worker that provides FUNCTION calls it once and keeps the result. Workers that connect "
      "later\nalso do this.\n"
      "Examples:\n"
      "  muster per-worker create open_dataset train\n"
      "  muster submit train_step '{\"$per_worker\":\"pw_…\"}'");
}

}  // namespace muster::cli
