#include "cli/torchrun.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/host_port.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/suggestion.hpp"

namespace muster::cli {
namespace {

constexpr char several_machines[] =
    "'muster run' does not discover machines: list them with --cluster-from (slurm, …) or "
    "--cluster-file FILE, and on each machine pass its task with --task; see docs/run.md";

constexpr char by_output_dir[] = "use --output-dir DIR, which stores the output of each task";
constexpr char by_logs[] =
    "'muster programs logs PROGRAM' prints the output of each rank; remove it";
constexpr char no_role[] = "all processes have the same role; remove it";
constexpr char is_process[] = "each task is a process that runs the command; remove it";

struct hint {
  char const* run;
  char const* launch;
};

std::map<std::string, hint> const& without_meaning() {
  constexpr char no_rendezvous[] = "Muster needs no rendezvous; remove it";
  constexpr char ends[] = "Muster detects immediately when a process exits; remove it";
  static std::map<std::string, hint> const all = {
      {"--rdzv-conf", {no_rendezvous, no_rendezvous}},
      {"--local-addr", {several_machines, "Muster knows the addresses of its workers; remove it"}},
      {"--monitor-interval", {ends, ends}},
      {"--start-method", {is_process, is_process}},
      {"--run-path", {is_process, is_process}},
      {"--role", {no_role, no_role}},
      {"--log-dir", {by_output_dir, by_logs}},
      {"--output-dir", {nullptr, by_logs}},
      {"--redirects", {by_output_dir, by_logs}},
      {"-r", {by_output_dir, by_logs}},
      {"--tee", {by_output_dir, by_logs}},
      {"-t", {by_output_dir, by_logs}},
      {"--logs-specs", {by_output_dir, by_logs}},
      {"--local-ranks-filter", {by_output_dir, "use 'muster programs logs PROGRAM --rank N'"}},
      {"--np", {"use --nproc N", "use --nproc N"}},
      {"--ntasks", {"use --nproc N", "use --nproc N"}},
      {"--gpus", {"use --nproc gpu, one process for each GPU of this machine", nullptr}},
      {"--num-gpus", {"use --nproc gpu, one process for each GPU of this machine", "use --gpus N"}},
      {"--num-workers", {"use --nproc N", "use --nproc N"}}};
  return all;
}

bool is_here(std::string const& host) {
  char name[256] = {};
  bool const named = ::gethostname(name, sizeof name - 1) == 0 && host == name;
  return named || host.empty() || host == "localhost" || host == "127.0.0.1" || host == "::1";
}

int gpus() {
  // As in CUDA, the first invalid entry ends the list.
  if (auto const* named = std::getenv("CUDA_VISIBLE_DEVICES")) {
    int count = 0;
    for (std::string_view rest = named; !rest.empty() && rest[0] != '-' && rest[0] != ','; ++count)
      rest = rest.find(',') == rest.npos ? std::string_view() : rest.substr(rest.find(',') + 1);
    return count;
  }
  int count = 0;
  std::error_code ignored;
  for (auto const& entry : std::filesystem::directory_iterator("/dev", ignored)) {
    auto const name = entry.path().filename().string();
    if (name.starts_with("nvidia") && parse_number(name.substr(6))) ++count;
  }
  return count;
}

int cpus() {
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

[[noreturn]] void refuse(std::string const& flag, std::string const& why) {
  throw command_error(exit_usage, flag + ": " + why);
}

std::string name_of(starter by) {
  return by == starter::run ? "run" : "launch";
}

[[noreturn]] void refuse_flag(CLI::App const& verb, std::string const& word, starter by) {
  auto flag = word.substr(0, word.find('='));
  auto spelled = flag;
  if (spelled.starts_with("--")) std::replace(spelled.begin() + 2, spelled.end(), '_', '-');
  auto const known = without_meaning().find(spelled);
  if (known != without_meaning().end())
    if (auto const* use = by == starter::run ? known->second.run : known->second.launch)
      refuse(flag, use);
  auto const other = by == starter::run ? starter::launch : starter::run;
  auto const* parent = verb.get_parent();
  auto const is_other = [&](CLI::App const* v) { return v->get_name() == name_of(other); };
  auto const siblings = parent ? parent->get_subcommands(is_other) : std::vector<CLI::App const*>();
  if (!is_like_a_flag(verb, flag) && !siblings.empty() &&
      siblings.front()->get_option_no_throw(spelled))
    refuse(flag, std::string("only 'muster ") + name_of(other) +
                     "' accepts it, and runs the command " +
                     (other == starter::run ? "on this machine" : "on the workers of a server") +
                     ": " + same_command(name_of(by), name_of(other)));
  throw unknown_flag(verb, word, "if it belongs to the command, write -- before the command");
}

}  // namespace

void add_torchrun_flags(CLI::App& verb, torchrun_flags& f, starter by) {
  char const* const group = "Equivalent to torchrun's flag";
  bool const here = by == starter::run;
  auto const add = [&](char const* names, auto& value, char const* type, char const* help) {
    return add_value(verb, names, value, type, help)->group(group);
  };
  auto* const nnodes = add(
      "--nnodes", f.nnodes, "N",
      here
          ? "Number of machines, which must be 1; for several see --cluster-from and --cluster-file"
          : "Number of hosts (1), each with --nproc processes; MIN:MAX: as many as fit");
  if (!here) nnodes->excludes("--tasks");
  verb.add_flag("--standalone", f.standalone,
                here ? "Run only on this machine"
                     : "Accepted and ignored: programs of a server need no rendezvous")
      ->group(group);
  add("--node-rank,--node_rank", f.node_rank, "N", "Must be 0");
  add("--master-addr,--master_addr", f.master_addr, "HOST", "Must be this machine");
  add("--master-port,--master_port", f.master_port, "PORT",
      here ? "MASTER_PORT of the tasks (default: a free port for each start)"
           : "Must be 0: each worker picks a free port of its --program-ports");
  add("--rdzv-backend,--rdzv_backend", f.rdzv_backend, "NAME",
      "Accepted and ignored: c10d or static");
  add("--rdzv-endpoint,--rdzv_endpoint", f.rdzv_endpoint, "HOST:PORT", "Must be this machine");
  add("--rdzv-id,--rdzv_id", f.rdzv_id, "ID",
      here ? "TORCHELASTIC_RUN_ID of the tasks (none)"
           : "Accepted and ignored: each program has an id");
  verb.add_flag("-m,--module", f.module, "The command is a Python module: python3 -m")
      ->group(group);
  verb.add_flag("--no-python,--no_python", f.no_python,
                "Run a command that ends in .py without python3 in front")
      ->group(group);
}

int nproc_of(std::string const& text, int most) {
  auto const number = parse_number(text);
  if (!number && text != "auto" && text != "gpu" && text != "cpu")
    throw CLI::ValidationError("--nproc", "'" + text + "' must be a number, auto, gpu or cpu");
  int const there = text == "cpu" || (text == "auto" && gpus() == 0) ? cpus() : gpus();
  auto const wanted = number ? *number : static_cast<std::uint64_t>(there);
  if (wanted == 0)
    throw CLI::ValidationError(
        "--nproc", text == "gpu" ? "gpu: no NVIDIA device is visible (CUDA_VISIBLE_DEVICES, /dev)"
                                 : "0: a run needs at least one process");
  if (wanted > static_cast<std::uint64_t>(most))
    throw CLI::ValidationError(
        "--nproc", text + ": at most " + std::to_string(most) + " processes on one machine");
  return static_cast<int>(wanted);
}

void check_torchrun_flags(torchrun_flags const& f, run_sources const& sources) {
  bool const elsewhere = !sources.cluster_from.empty() || !sources.cluster_file.empty();
  using given = std::pair<char const*, std::string>;
  for (auto const& [flag, text] :
       {given("--standalone", f.standalone ? "true" : ""), given("--nnodes", f.nnodes),
        given("--node-rank", f.node_rank), given("--master-addr", f.master_addr),
        given("--rdzv-endpoint", f.rdzv_endpoint)})
    if (elsewhere && !text.empty())
      refuse(flag, "--cluster-file or --cluster-from already defines the machines; remove it");
  if (!f.nnodes.empty() && f.nnodes != "1" && f.nnodes != "1:1")
    refuse("--nnodes " + f.nnodes, several_machines);
  if (!f.node_rank.empty() && f.node_rank != "0")
    refuse("--node-rank " + f.node_rank, several_machines);
  for (auto const& [flag, text] :
       {given("--master-addr ", f.master_addr), given("--rdzv-endpoint ", f.rdzv_endpoint)})
    if (!is_here(host_port::parse(text).host)) refuse(flag + text, several_machines);
  if (!f.rdzv_backend.empty() && f.rdzv_backend != "c10d" && f.rdzv_backend != "static")
    refuse("--rdzv-backend " + f.rdzv_backend, "Muster needs no rendezvous; remove it");
  if (f.master_port && (*f.master_port < 0 || *f.master_port > 65'535))
    refuse("--master-port " + std::to_string(*f.master_port), "write a port from 0 to 65535");
}

void check_launch_flags(torchrun_flags const& f) {
  constexpr char once[] =
      "the server starts the ranks of all hosts; run the command once, without this flag";
  constexpr char address[] =
      "the server chooses the hosts and sets MASTER_ADDR for the ranks; remove it";
  if (!f.node_rank.empty() && f.node_rank != "0") refuse("--node-rank " + f.node_rank, once);
  for (auto const& [flag, text] :
       {std::pair("--master-addr ", f.master_addr), std::pair("--rdzv-endpoint ", f.rdzv_endpoint)})
    if (!is_here(host_port::parse(text).host)) refuse(flag + text, address);
  if (f.master_port && *f.master_port != 0)
    refuse("--master-port " + std::to_string(*f.master_port),
           "a worker chooses a free port of its --program-ports; remove it");
  if (!f.rdzv_backend.empty() && f.rdzv_backend != "c10d" && f.rdzv_backend != "static")
    refuse("--rdzv-backend " + f.rdzv_backend, "Muster needs no rendezvous; remove it");
}

node_range nnodes_of(std::string const& text) {
  constexpr std::uint64_t most = 4096;
  auto const colon = text.find(':');
  auto const min = parse_number(text.substr(0, colon));
  auto const max = colon == text.npos ? min : parse_number(text.substr(colon + 1));
  if (!min || !max || *min < 1 || *max < *min || *max > most)
    refuse("--nnodes " + text, "write N or MIN:MAX, from 1 to " + std::to_string(most));
  return {*min, *max};
}

std::vector<std::string> command_of(CLI::App const& verb, torchrun_flags const& f,
                                    std::vector<std::string> const& literal, starter by) {
  auto const words = verb.remaining();
  if (!words.empty() && words.front().starts_with('-')) refuse_flag(verb, words.front(), by);
  if (!words.empty() && !literal.empty() && by == starter::run)
    throw command_error(exit_usage,
                        "'" + words.front() + "' is before --; write the whole command after --");
  auto command = words;
  command.insert(command.end(), literal.begin(), literal.end());
  if (command.empty()) return command;
  bool const script = !words.empty() && !f.no_python && command.front().ends_with(".py");
  if (f.module)
    command.insert(command.begin(), {"python3", "-u", "-m"});
  else if (script)
    command.insert(command.begin(), {"python3", "-u"});
  return command;
}

}  // namespace muster::cli
