// muster launch: runs a program as ranks on the cluster's workers.
#include <iostream>

#include "base/text.hpp"
#include "cli/body_flags.hpp"
#include "cli/programs/code_upload.hpp"
#include "cli/programs/following.hpp"
#include "cli/programs/launch_tasks.hpp"
#include "cli/programs/program_lookup.hpp"
#include "cli/rest.hpp"
#include "cli/suggestion.hpp"
#include "cli/torchrun.hpp"

namespace muster::cli {
namespace {

struct launch_verb_options {
  rest_options rest;
  launch_tasks tasks;
  torchrun_flags torchrun;
  body_flags program;
  std::string upload;
  bool detach = false;
  CLI::App const* verb = nullptr;
  std::vector<std::string> const* literal = nullptr;
};

std::vector<std::string> command_of(launch_verb_options const& o, json::object const& body) {
  auto command = command_of(*o.verb, o.torchrun, *o.literal, starter::launch);
  if (command.empty() && !all_have_commands(body.at("tasks").as_object()))
    throw command_error(
        exit_usage,
        "the command is missing: muster launch --tasks N [flags] -- COMMAND… (see 'muster "
        "launch --help')");
  auto const words = o.verb->remaining();
  auto const script = words.empty() ? std::string() : words.front();
  bool const has_code = !o.upload.empty() || body.contains("working_dir");
  if (script.ends_with(".py") && !script.starts_with('/') && !has_code)
    throw command_error(exit_usage, "the workers do not have " + script +
                                        "; to upload the current directory, which contains it: " +
                                        same_command("launch", "launch", "--upload ."));
  return command;
}

json::object body_of(launch_verb_options const& o) {
  auto body = o.program.body();
  body["tasks"] = tasks_json(o.tasks);
  if (auto const command = command_of(o, body); !command.empty())
    body["command"] = json::array(command.begin(), command.end());
  return body;
}

json::value submit(rest& server, launch_verb_options const& o, json::object body) {
  bool const once = body.contains("idempotency_key");
  if (!o.upload.empty()) {
    code_upload const code(o.upload);
    body["upload"] = code.hash();
    return code.submit(server, json::serialize(body), once);
  }
  auto const text = json::serialize(body);
  return once ? server.post_once("/api/v1/programs", text) : server.post("/api/v1/programs", text);
}

int run_launch(launch_verb_options& o) {
  check_launch_flags(o.torchrun);
  auto const per_worker = expand_short_flags(o.tasks, o.torchrun.nnodes);
  auto body = body_of(o);
  if (per_worker > 0) body.emplace("per_worker", per_worker);
  rest server(o.rest);
  auto const program = submit(server, o, std::move(body));
  auto const id = text_of(program, "id");
  if (o.detach) {
    std::cout << id << '\n';
    return exit_ok;
  }
  return follow_program(server, "/api/v1/programs/" + percent_encoded(id));
}

void add_times(body_flags& program) {
  program.number("--max-restarts,--max_restarts",
                 "Number of times that all ranks start again after a failure (0)");
  program.number<std::int64_t>("--priority",
                               "Priority; programs with a higher priority are placed first (0)");
  program.number("--weight",
                 "Share of the workers relative to other submitters, among equal priorities (1)");
  program.time("--grace", "Time between SIGTERM and SIGKILL (10s)");
  program.time("--restart-grace", "Time between SIGTERM and SIGKILL before a restart (1s)");
  program.time("--deadline",
               "Fail the program if it has not ended within this time after its submission");
  program.time("--notice", "Ask the ranks to stop this long before the deadline");
  program.value("--on-hang", "off|tell|restart|abort",
                "Reaction to a hang (tell). off: none; tell: report it; restart: end the attempt "
                "as HUNG, which counts as a failure; abort: fail the program");
  program.time("--hang-after",
               "Time without progress after which a program counts as hanging (60s)");
  program.number("--spares",
                 "Number of spare places reserved to replace the places of a lost host (0)");
  program.list("--ends-with", "TYPE|TASK",
               "Types or tasks whose successful exit ends the program, for example chief (default: "
               "all types except ps)");
}

}  // namespace

void add_launch(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(app, chosen, "launch",
                                  "Run a program as ranks on the workers of a cluster", run_launch);
  o->verb = verb;
  o->literal = &chosen.literal;
  verb->prefix_command();
  add_launch_tasks(*verb, o->tasks);
  auto& program = o->program;
  program.of(*verb);
  program.value("--name", "NAME", "A name for the program");
  program.number("--per-worker", "Maximum number of ranks on one worker (default: as many as fit)");
  add_times(program);
  program.value("--cluster", "NAME",
                "Cluster whose workers run the program (default: the main cluster)");
  program.value(
      "--working-dir", "DIR",
      "Working directory of the ranks on each host (default: a new directory for each rank)");
  add_value(*verb, "--upload", o->upload, "DIR",
            "Directory of this machine that is copied into the new working directory of each rank")
      ->excludes("--working-dir");
  program.list("--preload", "MODULE",
               "Python modules that a worker imports once for all its ranks and attempts");
  program.value("--store", "server|rank0",
                "Location of the torch.distributed store (default: server if the cluster has a "
                "store, as with 'muster serve --torch', else rank0)");
  program.value("--step-pattern", "REGEX",
                "Pattern that finds the step in the output of ranks, in its first group ('step "
                "(\\d+)'), for programs that do not call muster.step");
  program.pairs("--env", "NAME=VALUE", "Environment variable of the program; may be repeated");
  program.value(
      "--idempotency-key", "KEY",
      "Idempotency key: a second launch with the same key returns the program of the first launch");
  program.pairs("--metadata", "KEY=VALUE",
                "Metadata entry to store with the program; may be repeated");
  verb->add_flag("--detach", o->detach, "Print the program's id and return");
  add_torchrun_flags(*verb, o->torchrun, starter::launch);
  add_rest_options(*verb, o->rest);
  verb->footer(
      "The command begins at the first word that is not a flag, or after --. Without --, a .py\n"
      "file is run by python3 -u; the file must be part of --upload or --working-dir. Only\n"
      "workers with --allow-programs run programs. Each line of output begins with its rank.\n"
      "Press Ctrl-C to stop the program, and again to cancel it. --upload skips the files listed\n"
      "in .musterignore files, or in .gitignore files if there are no .musterignore files.\n"
      "Examples:\n"
      "  muster launch --nproc 8 --gpus 1 --upload . train.py --epochs 3\n"
      "  muster launch --tasks 8 --resource gpu=4 --max-restarts 3 -- python train.py\n"
      "  muster launch --tasks worker=4,ps=2 --resource worker:gpu=1 -- python train.py\n"
      "  muster launch --tasks worker=4,ps=2 --command ps='python ps.py' -- python train.py\n"
      "  muster launch --tasks 2 --name hello --detach -- hostname\n"
      "Exit status: 0 if all ranks succeeded, otherwise the status of the first rank that failed "
      "(128 + n after signal n), 127 if the command does not exist, 1 if the program was "
      "cancelled.");
}

}  // namespace muster::cli
