// muster launch: a program as ranks on the cluster's workers.
#include <iostream>
#include <optional>

#include "base/text.hpp"
#include "cli/programs/following.hpp"
#include "cli/programs/program.hpp"
#include "cli/rest.hpp"

namespace muster::cli {
namespace {

struct launch_verb_options {
  rest_options rest;
  std::uint32_t tasks = 0, max_restarts = 0, per_worker = 0;
  std::string name, working_dir, key;
  std::vector<std::string> resources, env;
  std::optional<duration> grace;
  bool detach = false;
  CLI::App const* verb = nullptr;
  std::vector<std::string> const* literal = nullptr;
};

std::vector<std::string> command_of(launch_verb_options const& o) {
  auto command = o.verb->remaining();
  command.insert(command.end(), o.literal->begin(), o.literal->end());
  if (command.empty())
    throw command_error(exit_usage,
                        "say what to run: muster launch --tasks N [flags] -- COMMAND… (see 'muster "
                        "launch --help')");
  return command;
}

json::object tasks_of(launch_verb_options const& o) {
  json::object each{{"count", o.tasks}};
  json::object resources;
  for (auto const& [name, text] : named_values("--resource", "NAME=N", o.resources)) {
    auto const amount = muster::parse_number(text);
    if (!amount || *amount > UINT32_MAX)
      throw command_error(exit_usage, "--resource " + name + "=" + text + ": write NAME=N");
    resources[name] = *amount;
  }
  if (!resources.empty()) each["resources"] = std::move(resources);
  return {{"worker", std::move(each)}};
}

std::string body_of(launch_verb_options const& o) {
  json::object body{{"tasks", tasks_of(o)}};
  auto& command = body["command"].emplace_array();
  for (auto const& word : command_of(o)) command.emplace_back(word);
  if (!o.name.empty()) body["name"] = o.name;
  if (!o.working_dir.empty()) body["working_dir"] = o.working_dir;
  if (!o.key.empty()) body["idempotency_key"] = o.key;
  if (o.max_restarts > 0) body["max_restarts"] = o.max_restarts;
  if (o.per_worker > 0) body["per_worker"] = o.per_worker;
  if (o.grace) body["grace"] = to_string(*o.grace);
  json::object env;
  for (auto const& [name, value] : named_values("--env", "NAME=VALUE", o.env)) env[name] = value;
  if (!env.empty()) body["env"] = std::move(env);
  return json::serialize(body);
}

int run_launch(launch_verb_options& o) {
  auto const body = body_of(o);
  rest server(o.rest);
  auto const program = o.key.empty() ? server.post("/api/v1/programs", body)
                                     : server.post_once("/api/v1/programs", body);
  auto const id = text_of(program, "id");
  if (o.detach) {
    std::cout << id << '\n';
    return exit_ok;
  }
  return follow_program(server, "/api/v1/programs/" + percent_encoded(id));
}

}  // namespace

void add_launch(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(app, chosen, "launch",
                                  "Run a program as ranks on the workers of a cluster", run_launch);
  o->verb = verb;
  o->literal = &chosen.literal;
  verb->prefix_command();
  add_value(*verb, "--tasks", o->tasks, "N",
            "So many processes, which start together or not at all")
      ->required()
      ->check(CLI::Range(1, 4096).description(""));
  add_value(*verb, "--name", o->name, "NAME", "A name for the program");
  add_repeated(*verb, "--resource", o->resources, "NAME=N",
               "What each takes of its worker, e.g. gpu=4; may be repeated");
  add_value(*verb, "--per-worker", o->per_worker, "N",
            "On one worker at most so many; without it as many as fit");
  add_value(*verb, "--max-restarts", o->max_restarts, "N",
            "After a failure all start again, so often (0)");
  add_duration(*verb, "--grace", o->grace, "From SIGTERM to SIGKILL (10s)");
  add_value(*verb, "--working-dir", o->working_dir, "DIR",
            "On each worker's host; without it a new directory for each");
  add_repeated(*verb, "--env", o->env, "NAME=VALUE", "Set for the program; may be repeated");
  add_value(*verb, "--idempotency-key", o->key, "KEY",
            "A second launch with this key gets the first one's program");
  verb->add_flag("--detach", o->detach, "Print the program's id and return");
  add_rest_options(*verb, o->rest);
  verb->footer(
      "The command is everything from the first word on that is no flag, or behind --. Workers "
      "take\n"
      "programs with --allow-programs. What ranks print comes with the rank in front. Ctrl-C stops "
      "the\nprogram, a second one cancels it.\n"
      "Examples:\n"
      "  muster launch --tasks 8 --resource gpu=4 --max-restarts 3 -- python train.py\n"
      "  muster launch --tasks 2 --name hello --detach -- hostname\n"
      "Exit status: 0 when all ranks ended well, else that of the first that failed (128 + n after "
      "signal n), 1 when it was cancelled.");
}

}  // namespace muster::cli
