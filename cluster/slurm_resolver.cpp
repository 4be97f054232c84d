// Ranks of a step onto jobs, hosts and ports, and GPUs onto ranks.
#include "muster/slurm_resolver.hpp"

#include <numeric>

#include "cluster/gpu_list.hpp"
#include "cluster/slurm_step.hpp"
#include "cluster/text.hpp"

namespace muster {
namespace {

using cluster::invalid;

void check_options(slurm_resolver::options const& o) {
  auto const at_least = [](char const* name, int value, int least) {
    if (value < least)
      throw invalid(std::string(name) + ": " + std::to_string(value) + " is below " +
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
  auto s = cluster::read_slurm_step(environment_lookup_, options_.tasks_per_node);
  auto const last_port = std::int64_t{options_.port_base} + s.most_tasks_of_a_host() - 1;
  if (last_port > 65535)
    throw invalid("port_base: " + std::to_string(options_.port_base) + " and " +
                  std::to_string(s.most_tasks_of_a_host()) +
                  " tasks of a host lead beyond port 65535");
  auto const sum = std::accumulate(options_.jobs.begin(), options_.jobs.end(), std::int64_t{0},
                                   [](auto n, auto const& job) { return n + job.second; });
  if (!options_.jobs.empty() && sum != s.tasks())
    throw invalid("jobs: " + counted(options_.jobs) + " are " + std::to_string(sum) +
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

std::optional<std::string> slurm_resolver::task_type() {
  return task_type_ ? task_type_ : own_task().first;
}

std::optional<int> slurm_resolver::task_id() {
  return task_id_ ? task_id_ : own_task().second;
}

int slurm_resolver::gpus_per_task(step const& s) const {
  auto const visible = environment_lookup_("CUDA_VISIBLE_DEVICES");
  auto const node = options_.gpus_per_node ? *options_.gpus_per_node
                    : visible ? static_cast<int>(cluster::visible_devices(*visible).size())
                    : options_.count_gpus ? options_.count_gpus()
                                          : cluster::gpus_of_driver();
  auto const most = s.most_tasks_of_a_host();
  auto const each = options_.gpus_per_task.value_or(node / most);
  if (std::int64_t{each} * most > node)
    throw invalid("gpus_per_task: " + std::to_string(each) + " for each of " +
                  std::to_string(most) + " tasks of a host are more than its " +
                  std::to_string(node) + " GPUs");
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
  auto const devices = visible ? cluster::visible_devices(*visible) : std::vector<std::string>();
  std::string list;
  auto const first = s.places[static_cast<std::size_t>(s.rank)].local * each;
  for (auto i = first; i < first + each; ++i) {
    auto const at = static_cast<std::size_t>(i);
    list += (list.empty() ? "" : ",") + (at < devices.size() ? devices[at] : std::to_string(i));
  }
  return list;
}

}  // namespace muster
