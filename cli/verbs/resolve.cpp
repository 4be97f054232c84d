// muster resolve: prints the tasks of a cluster and their addresses, as a resolver finds them.
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <thread>

#include "cli/cloud_resolvers.hpp"
#include "cli/resolver_kinds.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"
#include "launch/cluster/resolver_text.hpp"
#include "muster/cluster_rules.hpp"
#include "muster/cluster_watch.hpp"

namespace muster::cli {
namespace {

struct resolve_options {
  std::string kind;
  bool task = false, master = false, wait = false, watch = false;
  bool health = false, wait_healthy = false, accelerators = false, coordinator = false;
  std::string of_task;  // such as "worker:1", "worker" or ":1"; empty for this process's own task
  std::string rpc_layer;
  std::string devices;  // a file that contains device names, or "-"
  duration timeout = std::chrono::minutes(5);
  duration interval = std::chrono::seconds(30);
  output_format output = output_format::json;
};

constexpr auto retry_first = std::chrono::milliseconds(250);
constexpr auto retry_max = std::chrono::seconds(5);

std::chrono::milliseconds in_ms(duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d);
}

/// Calls `ask`. With --wait, repeats the call as long as a retry may help.
template <class Ask>
auto asked(resolve_options const& o, Ask ask) {
  using clock = std::chrono::steady_clock;
  auto const end = clock::now() + o.timeout;
  cluster_watch::options const pace{{}, retry_first, retry_max};
  for (unsigned failures = 1;; ++failures) {
    try {
      return ask();
    } catch (cluster_error const& e) {
      if (!o.wait || !e.is_transient()) throw command_error(status_of(e), e.what());
      auto const left = end - clock::now();
      if (left <= clock::duration::zero())
        throw command_error(exit_failed,
                            "not resolved within " + to_string(o.timeout) + ": " + e.what());
      if (failures == 1) std::cerr << "muster resolve: waiting: " << e.what() << '\n';
      std::this_thread::sleep_for(std::min<clock::duration>(left, delay_after(pace, failures)));
    }
  }
}

void print_spec(cluster_spec const& spec, output_format output) {
  if (output == output_format::json) {
    std::cout << spec.to_json() << '\n';
    return;
  }
  table rows({"JOB", right("TASK"), "ADDRESS"});
  for (auto const& [job, tasks] : spec.by_job())
    for (auto const& [index, address] : tasks)
      rows.add({for_terminal(job), std::to_string(index), for_terminal(address)});
  rows.print(std::cout);
}

struct task_choice {
  std::optional<std::string> type;
  std::optional<int> index;
};

task_choice chosen_task(std::string const& text) {
  task_choice chosen;
  auto const colon = text.rfind(':');
  if (auto type = text.substr(0, colon); !type.empty()) chosen.type = std::move(type);
  if (colon == std::string::npos) return chosen;
  auto const index = cluster::parse_count(std::string_view(text).substr(colon + 1),
                                          static_cast<int>(cluster_spec::tasks_max) - 1);
  if (!index) throw command_error(exit_usage, "--of: '" + text + "' is not a task; write worker:1");
  chosen.index = *index;
  return chosen;
}

std::optional<std::string> chosen_layer(resolve_options const& o) {
  if (o.rpc_layer.empty()) return {};
  return o.rpc_layer == "none" ? std::string() : o.rpc_layer;
}

json::object own_task(cluster_resolver& r, resolve_options const& o) {
  json::object own;
  auto const type = r.task_type();
  auto const index = r.task_id();
  if (o.task)
    own["task"] = {{"type", type ? json::value(*type) : json::value()},
                   {"index", index ? json::value(*index) : json::value()}};
  auto const [of_type, of_index] = chosen_task(o.of_task);
  if (o.master) own["master"] = r.master(of_type, of_index, chosen_layer(o));
  own["environment"] = r.environment();
  own["rpc_layer"] = r.rpc_layer();
  return own;
}

void print_own(json::value const& own, resolve_options const& o) {
  if (printed_as_json(o.output, own)) return;
  auto const& task = field_of(own, "task");
  auto const type = text_of(task, "type"), index = text_of(task, "index");
  auto const or_none = [&](char const* key) {
    auto text = text_of(own, key);
    return text.empty() ? "none" : text;
  };
  if (o.task)
    std::cout << "task         "
              << (field_of(task, "type").is_null() ? "unknown"
                  : index.empty()                  ? type
                                                   : type + ":" + index)
              << '\n';
  if (o.master) std::cout << "master       " << or_none("master") << '\n';
  std::cout << "environment  " << or_none("environment") << '\n';
}

using lines = std::vector<std::pair<std::string, std::string>>;

void print_lines(lines const& all) {
  for (auto const& [name, value] : all)
    std::cout << std::left << std::setw(13) << name
              << (value.empty() ? "none" : for_terminal(value)) << '\n';
}

found_coordinator leading_task(cluster_spec const& spec) {
  auto const leader = coordination_leader(spec);
  if (leader.empty()) throw cluster::missing("there is no cluster, so there is no leading task");
  auto const begin = leader.find(':') + 1;
  return {spec.task_address(leader.substr(begin, leader.find('/', begin) - begin), 0), leader};
}

/// Prints the API's information about a TPU. Returns exit_failed unless the TPU is READY and
/// HEALTHY. Throws the same errors as health_of().
exit_status print_health(cluster_resolver& resolver, output_format output) {
  auto const health = health_of(resolver);
  json::value const told(health.told);
  if (!printed_as_json(output, told))
    print_lines({{"tpu", text_of(told, "name")},
                 {"state", text_of(told, "state")},
                 {"health", text_of(told, "health")},
                 {"because", text_of(told, "health_description")},
                 {"recoverable", is_true(told, "recoverable") ? "yes" : "no"},
                 {"accelerator", text_of(told, "accelerator_type")},
                 {"runtime", text_of(told, "runtime_version")},
                 {"endpoints", std::to_string(list_of(told, "endpoints").size())}});
  return health.is_healthy ? exit_ok : exit_failed;
}

/// Reads device names, one per line. Throws cluster_error with code `missing` if the file cannot be
/// read.
std::vector<std::string> read_devices(std::string const& path) {
  std::ifstream file;
  if (path != "-") file.open(path);
  auto& in = path == "-" ? std::cin : file;
  if (!in) throw cluster::missing("--devices: " + path + " cannot be read");
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) names.push_back(line);
  return names;
}

/// Prints the number of devices of each kind, such as {"TPU": 8}: of one host for a TPU, otherwise
/// of the chosen task or all tasks.
exit_status print_accelerators(cluster_resolver& resolver, resolve_options const& o) {
  auto const output = o.output;
  if (!o.devices.empty())
    resolver.list_devices([names = read_devices(o.devices)] { return names; });
  auto const [of_type, of_index] = chosen_task(o.of_task);
  auto const found = resolver.num_accelerators(of_type, of_index);
  json::object out;
  for (auto const& [kind, count] : found) out[kind] = count;
  if (printed_as_json(output, out)) return exit_ok;
  table rows({"KIND", right("COUNT")});
  for (auto const& [kind, count] : found) rows.add({for_terminal(kind), std::to_string(count)});
  rows.print(std::cout);
  return exit_ok;
}

/// Prints the coordinator that runs next to a TPU, or else the leading task: ps 0, chief 0 or
/// worker 0. Throws cluster_error with code `missing` if there is no leading task.
exit_status print_coordinator(cluster_resolver& resolver, output_format output) {
  auto const beside = coordinator_beside_tpu(resolver);
  auto const found = beside ? *beside : leading_task(resolver.cluster_spec());
  json::object const out{{"coordinator", found.address}, {"leader", found.leader}};
  if (!printed_as_json(output, out))
    print_lines({{"coordinator", found.address}, {"leader", found.leader}});
  return exit_ok;
}

sigset_t ends() {
  sigset_t set;
  sigemptyset(&set);
  for (auto const signal : {SIGTERM, SIGINT, SIGPIPE}) sigaddset(&set, signal);
  return set;
}

/// Prints changes until a signal arrives or the reader of the output exits.
void watch(std::shared_ptr<cluster_resolver> resolver, resolve_options const& o) {
  auto const set = ends();
  // The mask is set before the watch starts its thread, which inherits it.
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  auto const format = o.output;
  cluster_watch changes(
      std::move(resolver),
      {in_ms(o.interval), retry_first, std::max(in_ms(o.interval), in_ms(duration(retry_max)))},
      {[format](cluster_spec const& spec) {
         print_spec(spec, format);
         if (!std::cout.flush()) ::kill(::getpid(), SIGTERM);
       },
       [](cluster_error const& e) { std::cerr << "muster resolve: " << e.what() << std::endl; },
       [] { std::cerr << "muster resolve: resolved again" << std::endl; }});
  for (int signal = 0; sigwait(&set, &signal) != 0;) {
  }
  changes.stop(std::chrono::seconds(1));
}

void check(resolve_options const& o) {
  if (o.kind.empty())
    throw command_error(exit_usage,
                        "the resolver is missing; pass one, as in 'muster resolve tf-config'");
  auto const questions = (o.task || o.master) + o.health + o.accelerators + o.coordinator;
  if (questions > 1)
    throw command_error(exit_usage,
                        "--health, --accelerators, --coordinator, and --task with --master exclude "
                        "each other; pass only one of them");
  if (o.watch && (o.wait || o.wait_healthy || questions > 0))
    throw command_error(exit_usage,
                        "--watch excludes --wait, --wait-healthy, --task, --master, --health, "
                        "--accelerators and --coordinator");
  if (!o.of_task.empty() && !o.master && !o.accelerators)
    throw command_error(exit_usage, "--of needs --master or --accelerators");
  if (!o.rpc_layer.empty() && !o.master)
    throw command_error(exit_usage, "--rpc-layer needs --master");
  if (!o.devices.empty() && !o.accelerators)
    throw command_error(exit_usage, "--devices needs --accelerators");
}

int run_resolve(resolve_options& o) {
  check(o);
  auto const resolver = make_known_resolver("--kind", o.kind);
  if (o.watch) {
    watch(resolver, o);
    return exit_ok;
  }
  if (o.wait_healthy) try {
      wait_until_healthy(*resolver, in_ms(o.timeout), in_ms(o.interval));
    } catch (cluster_error const& e) {
      throw command_error(status_of(e), e.what());
    }
  if (o.health) return asked(o, [&] { return print_health(*resolver, o.output); });
  if (o.accelerators) return asked(o, [&] { return print_accelerators(*resolver, o); });
  if (o.coordinator) return asked(o, [&] { return print_coordinator(*resolver, o.output); });
  if (o.task || o.master) {
    print_own(asked(o, [&] { return own_task(*resolver, o); }), o);
    return exit_ok;
  }
  print_spec(asked(o, [&] { return resolver->cluster_spec(); }), o.output);
  return exit_ok;
}

}  // namespace

void add_resolve(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(app, chosen, "resolve",
                                  "Print the tasks of a cluster and their addresses", run_resolve);
  add_value(*verb, "--kind,kind", o->kind, "KIND[:...]",
            "Resolver of the cluster: one of the kinds below");
  verb->add_flag("--task", o->task, "Print which task this process is instead");
  verb->add_flag("--master", o->master, "Print the address of its master instead");
  verb->add_flag("--health", o->health,
                 "Print the state and health of a TPU instead; status 1 unless READY and HEALTHY");
  verb->add_flag("--accelerators", o->accelerators,
                 "Print the number of accelerators of each kind instead");
  verb->add_flag("--coordinator", o->coordinator,
                 "Print the address of the coordinator instead: the coordinator of a TPU, "
                 "otherwise the leading task");
  add_value(*verb, "--of", o->of_task, "TYPE:INDEX",
            "Task of --master and --accelerators, such as worker:1 (default: this process's task)");
  add_value(*verb, "--rpc-layer", o->rpc_layer, "LAYER",
            "Text before :// in --master; none: print only the address");
  add_value(*verb, "--devices", o->devices, "FILE",
            "Count these devices in --accelerators, one name per line; - reads standard input");
  verb->add_flag("--wait", o->wait, "Retry until there is an answer");
  verb->add_flag("--wait-healthy", o->wait_healthy,
                 "First wait until the TPU is READY and HEALTHY, then answer");
  add_duration(*verb, "--timeout", o->timeout, "Time limit of --wait and --wait-healthy");
  verb->add_flag("--watch", o->watch, "Print the cluster again whenever it changes");
  add_duration(*verb, "--interval", o->interval,
               "Pause between two requests with --watch and --wait-healthy");
  add_output_option(*verb, o->output);
  verb->get_option("--output")->default_str("json");
  verb->footer(resolvers_help() +
               "Exit status: 1 not found or not ready, 2 malformed, 3 no answer.\n"
               "Examples:\n"
               "  muster resolve tf-config\n"
               "  srun -n 4 muster resolve slurm --task --master\n"
               "  muster resolve tpu:name=my-tpu --wait-healthy --timeout 20m\n"
               "  muster resolve file:/etc/cluster.json --watch --interval 5s\n"
               "See docs/resolvers.md.");
}

}  // namespace muster::cli
