// muster run: starts a program as the tasks of a cluster.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <stdexcept>

#include "base/host_port.hpp"
#include "base/process/child.hpp"
#include "base/process/private_temp_directory.hpp"
#include "base/process/python_site.hpp"
#include "base/text.hpp"
#include "cli/rest.hpp"
#include "cli/run_cluster.hpp"
#include "cli/torchrun.hpp"
#include "client/checks.hpp"
#include "launch/launcher.hpp"
#include "launch/plan.hpp"
#include "launch/supervision.hpp"
#include "muster/cluster_error.hpp"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;

struct run_options {
  run_sources sources;
  std::string mode;
  bool between_graph = false, in_graph = false;
  launch::launch_options launch;
  std::string server, declare, store;
  duration grace = 10s;
  bool no_prefix = false;
  std::vector<std::string> env;
  rest_options rest;
  torchrun_flags torchrun;
  std::vector<std::string> ends_with;
  CLI::App const* verb = nullptr;
  std::vector<std::string> const* literal = nullptr;
};

/// A cluster that is declared on a running server for the duration of the run.
class declaration {
 public:
  /// Declares the cluster with its training tasks, each of which connects as an agent. If `store`
  /// is "server", the server provides a TCPStore. If `store` is empty, the server provides a
  /// TCPStore only if its main cluster has one.
  /// @throws command_error
  declaration(rest_options run_options, std::string name, cluster_spec const& spec,
              std::string const& store)
      : server_(std::move(run_options)), name_(std::move(name)) {
    json::object jobs;
    for (auto const* job : {"chief", "worker"})
      if (spec.has_job(job) && spec.num_tasks(job) > 0) jobs[job] = spec.num_tasks(job);
    json::object body{{"name", name_}, {"jobs", jobs}};
    auto const usual = [this] {
      return server_.send("GET", "/api/v1/clusters/default/torch").status == 200;
    };
    if (store == "server" || (store.empty() && usual())) body["torch"] = 0;
    auto const declared = server_.post("/api/v1/clusters", json::serialize(body));
    address_ = server_.reachable(text_of(declared, "address"));
    if (body.contains("torch")) store_ = server_.reachable(text_of(declared, "torch_address"));
  }
  ~declaration() {
    try {
      server_.remove("/api/v1/clusters/" + percent_encoded(name_) + "?force=true");
    } catch (std::exception const& e) {
      std::cerr << "muster run: the cluster " << name_ << " remains declared: " << e.what() << '\n';
    }
  }
  declaration(declaration const&) = delete;

  /// Returns the address of the coordination service for hosts that can reach the server's URL.
  std::string const& address() const { return address_; }
  /// Returns an empty string if there is no TCPStore.
  std::string const& store() const { return store_; }
  /// Processes that start later get an empty TCPStore.
  void renew_store() {
    if (store_.empty()) return;
    try {
      server_.post("/api/v1/clusters/" + percent_encoded(name_) + "/torch/attempts", {});
    } catch (std::exception const& e) {
      std::cerr << "muster run: the torch.distributed store may still contain keys of the previous "
                   "start: "
                << e.what() << '\n';
    }
  }

 private:
  rest server_;
  std::string name_, address_, store_;
};

// Returns the server that the environment variable names. Inside another run, the variable applies
// only to that run's tasks and is ignored.
std::string server_of_environment() {
  auto const* server = std::getenv("MUSTER_COORDINATOR");
  return server && !std::getenv("MUSTER_TASK_TYPE") ? server : "";
}

std::optional<int> free_restart_status(launch::plan_request const& p) {
  constexpr auto name = "TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE";
  auto const set = p.added.contains(name) ? p.added : p.inherited;
  auto const it = set.find(name);
  if (it == set.end() || it->second.empty()) return {};
  auto const status = muster::parse_number(it->second);
  if (!status || *status < 1 || *status > 255)
    throw command_error(exit_usage, std::string(name) + " is '" + it->second +
                                        "'; write an exit status from 1 to 255");
  return static_cast<int>(*status);
}

std::optional<std::pair<std::string, int>> own_task(run_options const& o, run_cluster const& c) {
  bool const has_task = c.task_type.has_value();
  if (o.mode == "independent-worker" && !has_task)
    throw command_error(exit_usage,
                        c.origin +
                            " does not define which task this is; pass --task, such as "
                            "--task worker:3, or set task.type and task.index in TF_CONFIG");
  if (o.mode == "standalone-client" && has_task)
    throw command_error(exit_usage,
                        "--mode standalone-client runs all tasks on this machine, but " + c.origin +
                            " defines this machine as " + *c.task_type + ":" +
                            std::to_string(*c.task_index) + "; omit the task or --mode");
  if (!has_task) return {};
  return std::pair(*c.task_type, *c.task_index);
}

void check_coordinator(std::string const& server) {
  if (server.empty()) return;
  try {
    check_server_address(server);
  } catch (std::invalid_argument const& e) {
    throw command_error(exit_usage, std::string("--server: ") + e.what());
  }
}

void check_server(run_options const& o, launch::plan_request const& p) {
  check_coordinator(o.server);
  if (!o.declare.empty() && p.own)
    throw command_error(exit_usage,
                        "--declare is for runs on one machine; for several machines, run 'muster "
                        "clusters create' and pass --server on each machine");
  bool const is_elsewhere = !o.store.empty() && o.store != "server" && o.store != "rank0";
  if (is_elsewhere && host_port::parse(o.store).port.empty())
    throw command_error(exit_usage, "--store " + o.store + ": write server, rank0 or HOST:PORT");
  if (o.store == "server" && o.declare.empty())
    throw command_error(exit_usage,
                        "--store server needs --declare; for a declared cluster, pass the address "
                        "of its store: --store HOST:PORT");
  if (o.torchrun.master_port && !o.store.empty() && o.store != "rank0")
    throw command_error(exit_usage, "--store and --master-port exclude each other");
  if (p.in_graph && o.server.empty())
    throw command_error(exit_usage,
                        "--in-graph turns all tasks except the chief into workers of a Muster "
                        "server; pass the server with --server");
}

void check_size(launch::plan_request const& p, run_cluster const& c) {
  auto const tasks = c.spec.empty() ? static_cast<std::size_t>(c.nproc) : c.spec.size();
  if (!p.own && tasks > launch::processes_max)
    throw command_error(exit_usage, c.origin + ": " + std::to_string(tasks) +
                                        " processes on one machine, the limit is " +
                                        std::to_string(launch::processes_max));
}

// Chooses new ports for each start, because the previous start's ports may still be in use.
void choose_ports(run_options const& o, launch::plan_request& p, run_cluster const& c) {
  if (p.own) return;
  auto const workers = c.spec.empty() ? static_cast<std::size_t>(c.nproc) : 0;
  auto ports = launch::free_ports(workers + 2);
  auto const take = [&ports] {
    auto const port = ports.back();
    ports.pop_back();
    return "127.0.0.1:" + std::to_string(port);
  };
  p.own_service = take();
  auto const meeting_point = take();
  auto const chosen = o.torchrun.master_port.value_or(0);
  p.meeting_point = chosen > 0 ? "127.0.0.1:" + std::to_string(chosen) : meeting_point;
  if (c.spec.empty()) p.cluster = local_workers(ports);
}

// Finds the cluster again, because tasks that were restarted elsewhere may have new addresses.
void look_again(run_options const& o, launch::plan_request& p, run_cluster& c) {
  if (!o.sources.cluster_from.empty() || !o.sources.cluster_file.empty()) {
    try {
      auto found = find_cluster(o.sources);
      if (own_task(o, found) == p.own) {
        check_size(p, found);
        p.cluster = found.spec;
        c = std::move(found);
      }
    } catch (command_error const& e) {
      std::cerr << "muster run: the cluster was not changed: " << e.what() << '\n';
    }
  }
  choose_ports(o, p, c);
}

launch::plan_request request_of(run_options const& o, run_cluster const& c,
                                std::vector<std::string> command) {
  launch::plan_request p;
  p.cluster = c.spec;
  p.own = own_task(o, c);
  if (p.own && o.torchrun.master_port)
    throw command_error(
        exit_usage,
        "--master-port: the cluster already defines the master address; omit --master-port");
  p.in_graph = o.in_graph;
  p.rpc_layer = c.rpc_layer;
  p.environment = c.environment;
  p.server = o.server;
  p.command = std::move(command);
  p.ends_with = o.ends_with;
  p.max_restarts = o.launch.max_restarts;
  if (!o.torchrun.rdzv_id.empty()) p.run_id = o.torchrun.rdzv_id;
  std::error_code ignored;
  if (auto self = std::filesystem::read_symlink("/proc/self/exe", ignored); !self.empty())
    p.muster_program = self.string();
  p.inherited = current_environment();
  p.added = named_values("--env", "NAME=VALUE", o.env);
  check_server(o, p);
  check_size(p, c);
  return p;
}

int run_everything(run_options& o) {
  auto command = command_of(*o.verb, o.torchrun, *o.literal, starter::run);
  if (command.empty())
    throw command_error(
        exit_usage,
        "the command is missing: muster run [flags] -- COMMAND… (see 'muster run --help')");
  check_torchrun_flags(o.torchrun, o.sources);
  auto here = launch::split();
  if (here.over) return *here.over;
  if (o.server.empty() && o.declare.empty()) o.server = server_of_environment();
  auto cluster = find_cluster(o.sources);
  auto request = request_of(o, cluster, std::move(command));
  choose_ports(o, request, cluster);
  private_temp_directory const site("muster-run-");
  write_python_site(site.path(), {});
  request.python_site = site.path().string();
  std::optional<declaration> declared;
  if (!o.declare.empty()) {
    declared.emplace(o.rest, o.declare, request.cluster,
                     o.torchrun.master_port ? "rank0" : o.store);
    request.server = declared->address();
    request.store = declared->store();
  } else if (o.store != "rank0") {
    request.store = o.store;
  }
  auto l = std::move(o.launch);
  l.supervisor_pipe = std::move(here.line);
  l.begun = std::move(here.begun);
  l.roles = [&o, &declared, request, cluster](int restart) mutable {
    request.restart = restart;
    if (restart > 0) look_again(o, request, cluster);
    if (restart > 0 && declared) declared->renew_store();
    return launch::plan(request);
  };
  l.output.prefix = !o.no_prefix;
  auto const* const terminal = std::getenv("TERM");
  bool const dumb = terminal && std::string_view(terminal) == "dumb";
  bool const colour = std::getenv("NO_COLOR") == nullptr && !dumb;
  l.output.terminal_out = !dumb && ::isatty(STDOUT_FILENO) == 1;
  l.output.terminal_err = !dumb && ::isatty(STDERR_FILENO) == 1;
  l.output.colour_out = colour && ::isatty(STDOUT_FILENO) == 1;
  l.output.colour_err = colour && ::isatty(STDERR_FILENO) == 1;
  l.free_restart_status = free_restart_status(request);
  l.grace = std::chrono::ceil<std::chrono::milliseconds>(o.grace);
  try {
    return launch::run(std::move(l));
  } catch (cluster_error const& e) {
    throw command_error(exit_usage, e.what());
  }
}

void add_cluster_options(CLI::App& verb, run_options& o) {
  auto* const nproc = add_read(
      verb, nproc_names, "N",
      "Number of processes on this machine (1). gpu, cpu: one for each GPU or core; auto: gpu if "
      "there are GPUs, else cpu",
      [&o](std::string const& text) { o.sources.nproc = nproc_of(text, launch::processes_max); });
  auto* const from =
      add_value(verb, "--cluster-from", o.sources.cluster_from, "KIND:…",
                "Resolver that finds the cluster, for example slurm; see 'muster resolve --help'")
          ->excludes(nproc);
  add_value(verb, "--cluster-file", o.sources.cluster_file, "FILE",
            "The cluster as JSON, {\"worker\": [\"host:port\", …]}, or a complete TF_CONFIG")
      ->excludes(nproc, from);
  add_value(verb, "--task", o.sources.task, "TYPE:INDEX",
            "Task of this machine, if the source of the cluster does not define it");
  add_value(verb, "--mode", o.mode, "independent-worker|standalone-client",
            "independent-worker: run only the task of this machine (if it is known); "
            "standalone-client: run all tasks on this machine")
      ->check(one_of({"independent-worker", "standalone-client"}));
  auto* between =
      verb.add_flag("--between-graph", o.between_graph, "Run the command in each task (default)");
  verb.add_flag("--in-graph", o.in_graph,
                "Run the command only in the chief and the evaluator; the other tasks become "
                "workers of --server")
      ->excludes(between);
}

}  // namespace

void add_run(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "run", "Run a program as the tasks of a cluster", run_everything);
  o->verb = verb;
  o->literal = &chosen.literal;
  verb->prefix_command();
  add_cluster_options(*verb, *o);
  add_list(*verb, "--ends-with", o->ends_with, "TASK[,…]",
           "Jobs or tasks whose successful exit ends the run, such as chief or worker:0; the other "
           "tasks are then stopped (default: all jobs except ps)")
      ->allow_extra_args(false);
  add_number(*verb, "--max-restarts,--max_restarts", o->launch.max_restarts,
             "Number of times that all tasks start again after a failure (0)", 0, 1'000'000);
  add_value(*verb, "--server", o->server, "HOST:PORT",
            "gRPC address of a Muster server that coordinates the tasks (also MUSTER_COORDINATOR); "
            "default: process 0 serves the other processes");
  add_value(
      *verb, "--declare", o->declare, "NAME",
      "Declare the cluster under this name at --url and use the address that the server assigns")
      ->excludes("--server");
  add_value(*verb, "--store", o->store, "server|rank0|HOST:PORT",
            "Location of the torch.distributed store: the declared cluster (default if the server "
            "has a store), process 0 (default otherwise), or an address");
  add_duration(*verb, "--grace", o->grace, "Time between SIGTERM and SIGKILL");
  add_value(*verb, "--output-dir", o->launch.output.directory, "DIR",
            "Also write the output of each task to a file in this directory");
  verb->add_flag("--no-prefix", o->no_prefix, "Print lines without the task's name");
  add_repeated(*verb, "--env", o->env, "NAME=VALUE",
               "Environment variable of the program; may be repeated");
  add_torchrun_flags(*verb, o->torchrun, starter::run);
  add_rest_options(*verb, o->rest);
  verb->footer(
      "The command begins at the first word that is not a flag, or after --. Without --, a .py\n"
      "file is run by python3 -u, as with torchrun.\n"
      "Examples:\n"
      "  muster run --nproc 4 -- python train.py\n"
      "  muster run --nproc-per-node gpu train.py --epochs 3\n"
      "  muster run --cluster-file cluster.json --ends-with chief -- python train.py\n"
      "  muster run --cluster-from slurm --max-restarts 3 -- python train.py\n"
      "  muster run --nproc 4 --declare train --url http://127.0.0.1:8477 -- python train.py\n"
      "Exit status: 0 if all tasks succeeded, otherwise the status of the first task that failed "
      "(128 + n after signal n), 127 if the command does not exist, 2 for a wrong cluster or "
      "flag.");
}

}  // namespace muster::cli
