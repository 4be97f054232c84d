#include "muster/slurm_resolver.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "launch/cluster/resolver_text.hpp"

namespace muster {

struct slurm_resolver::step {
  struct place {
    std::size_t host = 0;
    int local = 0;
  };

  std::vector<std::string> hosts;
  std::vector<int> tasks_of_host;
  int rank = 0;
  std::vector<place> places;

  int tasks() const { return static_cast<int>(places.size()); }
  int most_tasks_of_a_host() const {
    return *std::max_element(tasks_of_host.begin(), tasks_of_host.end());
  }
};

namespace {

using cluster::invalid, cluster::missing, cluster::parse_count, cluster::trimmed;

constexpr auto tasks_max = static_cast<int>(cluster_spec::tasks_max);

std::string needed(environment_lookup const& environment, std::string const& name) {
  if (auto const text = environment(name)) return *text;
  throw missing(name +
                " is not set: this process is not a task of a Slurm step; start it with srun");
}

int needed_number(environment_lookup const& environment, std::string const& name, int least,
                  int most) {
  auto const text = needed(environment, name);
  auto const n = parse_count(trimmed(text), most);
  if (!n || *n < least)
    throw invalid(name + ": " + cluster::quoted(text) + " is not a number from " +
                  std::to_string(least) + " to " + std::to_string(most));
  return *n;
}

std::vector<int> tasks_of_hosts(environment_lookup const& environment,
                                std::optional<std::string> const& given, std::size_t hosts) {
  std::string const origin = given ? "tasks_per_node" : "SLURM_STEP_TASKS_PER_NODE";
  auto counts = expand_task_counts(given ? *given : needed(environment, origin), origin);
  if (given && counts.size() == 1) counts.assign(hosts, counts.front());
  if (counts.size() != hosts)
    throw invalid(origin + ": the value lists " + std::to_string(counts.size()) + " hosts, but " +
                  "SLURM_STEP_NODELIST has " + std::to_string(hosts));
  return counts;
}

using places = std::vector<slurm_resolver::step::place>;

/// Assigns ranks to hosts in turn. Each turn assigns `together` consecutive ranks to a host.
places in_turns(std::vector<int> const& tasks_of_host, int together) {
  places all;
  std::vector<int> given(tasks_of_host.size(), 0);
  for (bool more = true; more;) {
    more = false;
    for (std::size_t host = 0; host < given.size(); ++host) {
      auto const end = std::min(tasks_of_host[host], given[host] + together);
      while (given[host] < end) all.push_back({host, given[host]++});
      more = more || given[host] < tasks_of_host[host];
    }
  }
  return all;
}

places lay_out(environment_lookup const& environment, std::vector<int> const& tasks_of_host) {
  // The first word, such as cyclic in "cyclic:block,NoPack", applies to nodes, the rest to sockets
  // and cores.
  auto const text = environment("SLURM_DISTRIBUTION").value_or("block");
  auto const word = text.substr(0, text.find_first_of(":,="));
  if (word == "block" || word == "*" || word.empty()) return in_turns(tasks_of_host, tasks_max);
  if (word == "cyclic") return in_turns(tasks_of_host, 1);
  if (word == "plane" && !environment("SLURM_DIST_PLANESIZE"))
    throw invalid(
        "SLURM_DIST_PLANESIZE is not set, but SLURM_DISTRIBUTION is 'plane': pass the size to srun "
        "as --distribution=plane=SIZE");
  if (word == "plane")
    return in_turns(tasks_of_host,
                    needed_number(environment, "SLURM_DIST_PLANESIZE", 1, tasks_max));
  throw invalid("SLURM_DISTRIBUTION: " + cluster::quoted(text) +
                " does not define the host of each rank; use block, cyclic or plane");
}

slurm_resolver::step read_step(environment_lookup const& environment,
                               std::optional<std::string> const& tasks_per_node) {
  slurm_resolver::step s;
  auto const tasks = needed_number(environment, "SLURM_STEP_NUM_TASKS", 1, tasks_max);
  s.rank = needed_number(environment, "SLURM_PROCID", 0, tasks_max - 1);
  if (s.rank >= tasks)
    throw invalid("SLURM_PROCID: " + std::to_string(s.rank) +
                  " is not less than SLURM_STEP_NUM_TASKS, " + std::to_string(tasks));
  constexpr auto node_list = "SLURM_STEP_NODELIST";
  s.hosts = expand_hostlist(needed(environment, node_list), node_list);
  s.tasks_of_host = tasks_of_hosts(environment, tasks_per_node, s.hosts.size());
  auto const sum = std::accumulate(s.tasks_of_host.begin(), s.tasks_of_host.end(), std::int64_t{0});
  if (sum != tasks)
    throw invalid(std::string(tasks_per_node ? "tasks_per_node" : "SLURM_STEP_TASKS_PER_NODE") +
                  ": the hosts have " + std::to_string(sum) +
                  " tasks in total, but SLURM_STEP_NUM_TASKS is " + std::to_string(tasks));
  s.places = lay_out(environment, s.tasks_of_host);
  return s;
}

/// Stops at the first invalid entry, as CUDA does.
std::vector<std::string> visible_devices(std::string_view text) {
  std::vector<std::string> devices;
  for (auto const part : cluster::split(text, ',')) {
    auto const device = trimmed(part);
    if (device.empty() || device == "-1" || device == "NoDevFiles") break;
    devices.emplace_back(device);
  }
  return devices;
}

int gpus_of_driver() {
  std::error_code error;
  auto const folder = std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error);
  int n = 0;
  if (!error)
    for (auto it = begin(folder); it != end(folder) && !error; it.increment(error)) ++n;
  return n;
}

void check_options(slurm_resolver::options const& o) {
  auto const at_least = [](char const* name, int value, int least) {
    if (value < least)
      throw invalid(std::string(name) + ": " + std::to_string(value) + " is less than " +
                    std::to_string(least));
  };
  at_least("port_base", o.port_base, 1);
  if (o.gpus_per_node) at_least("gpus_per_node", *o.gpus_per_node, 0);
  if (o.gpus_per_task) at_least("gpus_per_task", *o.gpus_per_task, 0);
  for (auto const& [name, tasks] : o.jobs)
    at_least(("jobs: " + cluster::quoted(name)).c_str(), tasks, 0);
}

std::string counted(std::map<std::string, int> const& jobs) {
  std::vector<std::string> parts;
  for (auto const& [name, tasks] : jobs) parts.push_back(name + "=" + std::to_string(tasks));
  return cluster::listed(parts);
}

}  // namespace

slurm_resolver::slurm_resolver(environment_lookup environment, options o)
    : environment_lookup_(std::move(environment)), options_(std::move(o)) {
  check_options(options_);
  if (options_.rpc_layer) rpc_layer_ = *options_.rpc_layer;
}

slurm_resolver::step slurm_resolver::read() const {
  auto s = read_step(environment_lookup_, options_.tasks_per_node);
  auto const last_port = std::int64_t{options_.port_base} + s.most_tasks_of_a_host() - 1;
  if (last_port > 65535)
    throw invalid("port_base: " + std::to_string(options_.port_base) + " is too high for " +
                  std::to_string(s.most_tasks_of_a_host()) +
                  " tasks on a host; the highest port is 65535");
  auto const sum = std::accumulate(options_.jobs.begin(), options_.jobs.end(), std::int64_t{0},
                                   [](auto n, auto const& job) { return n + job.second; });
  if (!options_.jobs.empty() && sum != s.tasks())
    throw invalid("jobs: " + counted(options_.jobs) + " add up to " + std::to_string(sum) +
                  " tasks, but SLURM_STEP_NUM_TASKS is " + std::to_string(s.tasks()));
  gpus_per_task(s);
  return s;
}

muster::cluster_spec slurm_resolver::cluster_spec() {
  auto const s = read();
  auto jobs = options_.jobs;
  if (jobs.empty()) jobs["worker"] = s.tasks();
  std::size_t rank = 0;
  muster::cluster_spec::job_map spec;
  for (auto const& [name, tasks] : jobs) {
    auto& members = spec[name];
    for (int i = 0; i < tasks; ++i) {
      auto const& at = s.places[rank++];
      members.emplace_hint(members.end(), i,
                           s.hosts[at.host] + ":" + std::to_string(options_.port_base + at.local));
    }
  }
  return muster::cluster_spec(std::move(spec));
}

std::pair<std::string, int> slurm_resolver::own_task() const {
  auto const s = read();
  auto rank = s.rank;
  for (auto const& [name, tasks] : options_.jobs) {
    if (rank < tasks) return {name, rank};
    rank -= tasks;
  }
  return {"worker", rank};
}

int slurm_resolver::gpus_per_task(step const& s) const {
  auto const visible = environment_lookup_("CUDA_VISIBLE_DEVICES");
  auto const node = options_.gpus_per_node ? *options_.gpus_per_node
                    : visible              ? static_cast<int>(visible_devices(*visible).size())
                    : options_.count_gpus  ? options_.count_gpus()
                                           : gpus_of_driver();
  auto const most = s.most_tasks_of_a_host();
  auto const each = options_.gpus_per_task.value_or(node / most);
  if (std::int64_t{each} * most > node)
    throw invalid("gpus_per_task: " + std::to_string(each) + " GPUs for each of " +
                  std::to_string(most) + " tasks on a host exceed its " + std::to_string(node) +
                  " GPUs");
  return each;
}

std::map<std::string, int> slurm_resolver::num_accelerators(std::optional<std::string>,
                                                            std::optional<int>) {
  auto const each = gpus_per_task(read());
  if (each == 0) return {};
  return {{"GPU", each}};
}

std::string slurm_resolver::visible_gpus() {
  auto const s = read();
  auto const each = gpus_per_task(s);
  auto const visible = environment_lookup_("CUDA_VISIBLE_DEVICES");
  auto const devices = visible ? visible_devices(*visible) : std::vector<std::string>();
  std::string list;
  auto const first = s.places[static_cast<std::size_t>(s.rank)].local * each;
  for (auto i = first; i < first + each; ++i) {
    auto const at = static_cast<std::size_t>(i);
    list += (list.empty() ? "" : ",") + (at < devices.size() ? devices[at] : std::to_string(i));
  }
  return list;
}

}  // namespace muster
