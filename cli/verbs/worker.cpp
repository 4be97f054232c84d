// muster worker: runs a worker with the bundled functions, for tests and for `exec`.
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <muster/worker.hpp>
#include <thread>

#include "base/process/private_temp_directory.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/command.hpp"
#include "cli/rest.hpp"
#include "cli/verbs/worker_programs.hpp"
#include "client/functions/bundled_functions.hpp"

namespace muster::cli {
namespace {

struct worker_verb_options {
  worker_options worker;
  std::string token_file;
  std::vector<std::string> labels, resources;
  std::uint32_t gpus = 0;
  duration idle_timeout{0}, drain_timeout = worker_options{}.drain_timeout;
  bool allow_exec = false;
  program_flags programs;
};

std::atomic<muster::worker*> running = nullptr;
std::atomic<int> signals = 0;

// The first signal lets running closures finish. The second signal makes the worker exit without
// waiting for closures. The third signal ends the process, in case a function is not responding.
extern "C" void on_stop_signal(int) {
  if (signals.fetch_add(1) >= 2) ::_exit(exit_failed);
  if (auto* w = running.load()) w->stop();
}

std::map<std::string, std::uint32_t> parse_resources(std::vector<std::string> const& texts) {
  std::map<std::string, std::uint32_t> resources;
  for (auto const& [name, text] : named_values("--resource", "NAME=N", texts)) {
    auto const amount = muster::parse_number(text);
    if (!amount || *amount > UINT32_MAX)
      throw command_error(exit_usage, "--resource " + name + "=" + text + ": write NAME=N");
    resources[name] = static_cast<std::uint32_t>(*amount);
  }
  return resources;
}

// Replaces the library's option name in an error message by the flag's name.
std::string with_flag(std::string const& what) {
  constexpr std::string_view option = "worker_options.", servers = "servers: ";
  if (!what.starts_with(option)) return what;
  auto const rest = what.substr(option.size());
  return "--" + (rest.starts_with(servers) ? "server: " + rest.substr(servers.size()) : rest);
}

std::unique_ptr<muster::worker> make_worker(worker_verb_options const& o) {
  auto w = o.worker;
  check_tls_files(
      {.ca_file = w.tls.ca, .certificate_file = w.tls.certificate, .key_file = w.tls.key});
  w.token = credential(w.token, o.token_file);
  w.labels = named_values("--label", "KEY=VALUE", o.labels);
  w.resources = parse_resources(o.resources);
  if (o.gpus > 0 && !w.resources.emplace("gpu", o.gpus).second)
    throw command_error(exit_usage,
                        "--gpus and --resource gpu=N have the same meaning; omit one of them");
  w.idle_timeout = std::chrono::ceil<std::chrono::milliseconds>(o.idle_timeout);
  w.drain_timeout = std::chrono::ceil<std::chrono::milliseconds>(o.drain_timeout);
  w.version = version();
  auto ranks = rank_side_of(o.programs, w);
  try {
    auto made = std::make_unique<muster::worker>(std::move(w));
    if (ranks) made->take_programs(std::move(ranks));
    return made;
  } catch (std::invalid_argument const& e) {
    throw command_error(exit_usage, with_flag(e.what()));
  }
}

int run_worker(worker_verb_options& o) {
  remove_orphaned_directories("muster-programs-");
  auto const w = make_worker(o);
  add_bundled_functions(*w, {.allow_exec = o.allow_exec});
  running = w.get();
  std::signal(SIGTERM, on_stop_signal);
  std::signal(SIGINT, on_stop_signal);
  std::signal(SIGPIPE, SIG_IGN);
  auto const status = w->run();
  running = nullptr;
  return status == 0 ? exit_ok : exit_failed;
}

}  // namespace

void add_worker(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "worker", "Run a worker with the bundled functions", run_worker);
  o->worker.slots = std::max(1u, std::thread::hardware_concurrency());
  add_list(*verb, "--server", o->worker.servers, "HOST:PORT",
           "gRPC address of the server; comma-separated list for several")
      ->default_str("127.0.0.1:8476");
  auto& tls = o->worker.tls;
  add_tls_flags(*verb, tls.ca, tls.certificate, tls.key);
  verb->add_flag("--tls", tls.use_tls, "Use TLS; implied by --ca, --cert and --key");
  add_value(*verb, "--cluster", o->worker.cluster, "NAME",
            "Cluster to join (default: the cluster of the server's port)");
  add_token_options(*verb, o->worker.token, o->token_file);
  verb->add_flag("--wait-for-cluster", o->worker.wait_for_cluster,
                 "Wait until the server has the cluster, instead of exiting");
  add_value(*verb, "--role,--job", o->worker.job, "ROLE", "Role of the worker in the cluster")
      ->capture_default_str();
  add_number(
      *verb, "--index", o->worker.index,
      "Index in the role (default: the server picks a free index); refused while another host "
      "is connected as that task",
      0, 1'000'000);
  add_count(*verb, "--slots", o->worker.slots,
            "Number of closures that run at the same time (the number of cores)", 1);
  add_count(*verb, "--credits", o->worker.credits,
            "Maximum number of closures on the worker at the same time, running or waiting; 0: "
            "max(2 * slots, 16)");
  add_repeated(*verb, "--label", o->labels, "KEY=VALUE",
               "Label that closures can require; may be repeated");
  add_repeated(*verb, "--resource", o->resources, "NAME=N",
               "Amount of a resource that the worker offers to closures; may be repeated");
  add_value(*verb, "--gpus", o->gpus, "N",
            "Number of GPUs, equivalent to --resource gpu=N; 0: none");
  add_duration(*verb, "--idle-timeout", o->idle_timeout,
               "Exit after this time without closures and ranks; 0: never");
  add_duration(*verb, "--drain-timeout", o->drain_timeout,
               "Time limit for running closures when the worker is asked to leave; ranks of "
               "programs have --program-notice and the grace of their program");
  add_value(*verb, "--host", o->worker.host, "NAME",
            "Host name that the worker reports (default: the name of this machine)");
  verb->add_flag("--allow-exec", o->allow_exec, "Offer muster.exec, which runs any command");
  add_program_flags(*verb, o->programs);
  verb->footer(
      "Examples:\n"
      "  muster worker --server 127.0.0.1:8476 --slots 4\n"
      "  muster worker --index 3 --label rack=b2 --resource gpu=2 --allow-exec\n"
      "  muster worker --gpus 8 --allow-programs --idle-timeout 10m\n"
      "SIGTERM or Ctrl-C: finish the accepted closures, then leave; a second one: leave "
      "immediately.");
}

}  // namespace muster::cli
