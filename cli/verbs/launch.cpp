// muster launch: a program as ranks on the cluster's workers.
#include <iostream>
#include <optional>

#include "base/text.hpp"
#include "cli/programs/code_upload.hpp"
#include "cli/programs/following.hpp"
#include "cli/programs/launch_tasks.hpp"
#include "cli/programs/program_lookup.hpp"
#include "cli/rest.hpp"
#include "cli/suggestion.hpp"
#include "cli/torchrun.hpp"

namespace muster::cli {
namespace {

struct launch_times {
  std::optional<duration> grace, restart_grace, deadline, notice, hang_after;
  std::string on_hang, step_pattern;
};

struct launch_python {
  std::vector<std::string> preload;
  std::string store;
};

struct launch_verb_options {
  rest_options rest;
  launch_tasks tasks;
  torchrun_flags torchrun;
  std::uint32_t max_restarts = 0, per_worker = 0, spares = 0;
  std::int64_t priority = 0;
  std::uint32_t weight = 1;
  std::string name, cluster, working_dir, upload, key;
  std::vector<std::string> env, ends_with, metadata;
  launch_python python;
  launch_times times;
  bool detach = false;
  CLI::App const* verb = nullptr;
  std::vector<std::string> const* literal = nullptr;
};

std::vector<std::string> command_of(launch_verb_options const& o, json::object const& tasks) {
  auto command = command_of(*o.verb, o.torchrun, *o.literal, starter::launch);
  if (command.empty() && !all_have_commands(tasks))
    throw command_error(exit_usage,
                        "say what to run: muster launch --tasks N [flags] -- COMMAND… (see 'muster "
                        "launch --help')");
  auto const words = o.verb->remaining();
  auto const script = words.empty() ? std::string() : words.front();
  bool const has_code = !o.upload.empty() || !o.working_dir.empty();
  if (script.ends_with(".py") && !script.starts_with('/') && !has_code)
    throw command_error(exit_usage, "the workers do not have " + script +
                                        "; to send the current directory with it: " +
                                        same_command("launch", "launch", "--upload ."));
  return command;
}

json::object named_texts(std::string const& flag, std::string const& form,
                         std::vector<std::string> const& texts) {
  json::object named;
  for (auto const& [name, value] : named_values(flag, form, texts)) named[name] = value;
  return named;
}

// Only what was said: what a program is unless told, the server knows.
std::string body_of(launch_verb_options const& o, std::string const& upload) {
  auto const tasks = tasks_json(o.tasks);
  json::object body{{"tasks", tasks}};
  if (auto const command = command_of(o, tasks); !command.empty())
    body["command"] = json::array(command.begin(), command.end());
  auto const text = [&body](char const* member, std::string const& said) {
    if (!said.empty()) body[member] = said;
  };
  auto const span = [&body](char const* member, std::optional<duration> said) {
    if (said) body[member] = to_string(*said);
  };
  auto const object = [&body](char const* member, json::object said) {
    if (!said.empty()) body[member] = std::move(said);
  };
  text("name", o.name);
  text("cluster", o.cluster);
  text("working_dir", o.working_dir);
  text("upload", upload);
  text("idempotency_key", o.key);
  text("store", o.python.store);
  text("on_hang", o.times.on_hang);
  text("step_pattern", o.times.step_pattern);
  if (o.max_restarts > 0) body["max_restarts"] = o.max_restarts;
  if (o.per_worker > 0) body["per_worker"] = o.per_worker;
  if (o.priority != 0) body["priority"] = o.priority;
  if (o.weight != 1) body["weight"] = o.weight;
  span("grace", o.times.grace);
  span("restart_grace", o.times.restart_grace);
  span("deadline", o.times.deadline);
  span("notice", o.times.notice);
  span("hang_after", o.times.hang_after);
  if (o.spares > 0) body["spares"] = o.spares;
  if (auto const& modules = o.python.preload; !modules.empty())
    body["preload"] = json::array(modules.begin(), modules.end());
  object("env", named_texts("--env", "NAME=VALUE", o.env));
  object("metadata", named_texts("--metadata", "KEY=VALUE", o.metadata));
  if (!o.ends_with.empty()) body["ends_with"] = json::array(o.ends_with.begin(), o.ends_with.end());
  return json::serialize(body);
}

json::value submit(rest& server, launch_verb_options const& o) {
  bool const once = !o.key.empty();
  if (!o.upload.empty()) {
    code_upload const code(o.upload);
    return code.submit(server, body_of(o, code.hash()), once);
  }
  auto const body = body_of(o, {});
  return once ? server.post_once("/api/v1/programs", body) : server.post("/api/v1/programs", body);
}

int run_launch(launch_verb_options& o) {
  check_launch_flags(o.torchrun);
  auto const per_worker = spell_out(o.tasks, o.torchrun.nnodes);
  if (o.per_worker == 0) o.per_worker = per_worker;
  (void)command_of(o, tasks_json(o.tasks));  // before anything is packed
  rest server(o.rest);
  auto const program = submit(server, o);
  auto const id = text_of(program, "id");
  if (o.detach) {
    std::cout << id << '\n';
    return exit_ok;
  }
  return follow_program(server, "/api/v1/programs/" + percent_encoded(id));
}

// When it starts, ends and starts again.
void add_times(CLI::App& verb, launch_verb_options& o) {
  add_value(verb, "--max-restarts,--max_restarts", o.max_restarts, "N",
            "Number of times that all ranks start again after a failure (0)");
  add_value(verb, "--priority", o.priority, "N",
            "Priority; programs with a higher one are placed first (0)");
  add_value(verb, "--weight", o.weight, "N",
            "Share of the workers relative to other submitters, among equal priorities (1)");
  add_duration(verb, "--grace", o.times.grace, "Time between SIGTERM and SIGKILL (10s)");
  add_duration(verb, "--restart-grace", o.times.restart_grace,
               "Time between SIGTERM and SIGKILL before a restart (1s)");
  add_duration(verb, "--deadline", o.times.deadline,
               "Fail the program if it has not ended this long after its submission");
  add_duration(verb, "--notice", o.times.notice,
               "Ask the ranks to stop this long before the deadline");
  add_value(verb, "--on-hang", o.times.on_hang, "off|tell|restart|abort",
            "Reaction to a hang (tell). off: none; tell: report it; restart: end the attempt as "
            "HUNG, which counts as a failure; abort: fail the program");
  add_duration(verb, "--hang-after", o.times.hang_after,
               "Time without progress after which a program hangs (60s)");
  add_value(verb, "--spares", o.spares, "N",
            "Number of spare places that are reserved to replace a lost host (0)");
  add_list(verb, "--ends-with", o.ends_with, "TYPE|TASK",
           "Types or tasks whose successful end ends the program, for example chief (default: all "
           "types except ps)");
}

}  // namespace

void add_launch(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(app, chosen, "launch",
                                  "Run a program as ranks on the workers of a cluster", run_launch);
  o->verb = verb;
  o->literal = &chosen.literal;
  verb->prefix_command();
  add_launch_tasks(*verb, o->tasks);
  add_value(*verb, "--name", o->name, "NAME", "A name for the program");
  add_value(*verb, "--per-worker", o->per_worker, "N",
            "Maximum number of ranks on one worker (default: as many as fit)");
  add_times(*verb, *o);
  add_value(*verb, "--cluster", o->cluster, "NAME",
            "Cluster whose workers run it (default: the main cluster)");
  add_value(*verb, "--working-dir", o->working_dir, "DIR",
            "Working directory of the ranks on each host (default: a new directory for each rank)");
  add_value(*verb, "--upload", o->upload, "DIR",
            "Directory of this machine that is copied into the new working directory of each rank")
      ->excludes("--working-dir");
  add_list(*verb, "--preload", o->python.preload, "MODULE",
           "Python modules that a worker imports once for all its ranks and attempts");
  add_value(*verb, "--store", o->python.store, "server|rank0",
            "Location of the torch.distributed store (default: server if the cluster has a store, "
            "as with 'muster serve --torch', else rank0)");
  add_value(*verb, "--step-pattern", o->times.step_pattern, "REGEX",
            "Finds the step in what ranks print, in its first group ('step (\\d+)'), for programs "
            "that do not call muster.step");
  add_repeated(*verb, "--env", o->env, "NAME=VALUE",
               "Environment variable of the program; may be repeated");
  add_value(*verb, "--idempotency-key", o->key, "KEY",
            "Idempotency key: a second launch with it returns the program of the first one");
  add_repeated(*verb, "--metadata", o->metadata, "KEY=VALUE",
               "Entry that is stored with the program and shown; may be repeated");
  verb->add_flag("--detach", o->detach, "Print the program's id and return");
  add_torchrun_flags(*verb, o->torchrun, starter::launch);
  add_rest_options(*verb, o->rest);
  verb->footer(
      "The command begins with the first word that is no flag, or after --. Without --, a file "
      "that\n"
      "ends in .py is run by python3 -u; it is a file of --upload or --working-dir. Only workers "
      "with\n"
      "--allow-programs run programs. Each line of output has its rank in front. Ctrl-C stops the\n"
      "program, a second one cancels it. --upload skips the files that .musterignore files name, "
      "or\n"
      ".gitignore files if there are no .musterignore files.\n"
      "Examples:\n"
      "  muster launch --nproc 8 --gpus 1 --upload . train.py --epochs 3\n"
      "  muster launch --tasks 8 --resource gpu=4 --max-restarts 3 -- python train.py\n"
      "  muster launch --tasks worker=4,ps=2 --resource worker:gpu=1 -- python train.py\n"
      "  muster launch --tasks worker=4,ps=2 --command ps='python ps.py' -- python train.py\n"
      "  muster launch --tasks 2 --name hello --detach -- hostname\n"
      "Exit status: 0 when all ranks ended well, else that of the first that failed (128 + n after "
      "signal n), 127 when there is no such command, 1 when it was cancelled.");
}

}  // namespace muster::cli
