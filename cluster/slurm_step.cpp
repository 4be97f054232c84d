// A step's variables, and where its distribution puts each rank.
#include "cluster/slurm_step.hpp"

#include <algorithm>
#include <numeric>

#include "cluster/text.hpp"

namespace muster {

int slurm_resolver::step::most_tasks_of_a_host() const {
  return *std::max_element(tasks_of_host.begin(), tasks_of_host.end());
}

namespace cluster {
namespace {

constexpr auto tasks_max = static_cast<int>(cluster_spec::tasks_max);

std::string needed(environment_lookup const& environment, std::string const& name) {
  if (auto const text = environment(name)) return *text;
  throw missing(name + " is not set: this is no Slurm step, start it with srun");
}

int needed_number(environment_lookup const& environment, std::string const& name, int least,
                  int most) {
  auto const text = needed(environment, name);
  auto const n = parse_count(trimmed(text), most);
  if (!n || *n < least)
    throw invalid(name + ": " + quoted(text) + " is not a number from " + std::to_string(least) +
                  " to " + std::to_string(most));
  return *n;
}

std::vector<int> tasks_of_hosts(environment_lookup const& environment,
                                std::optional<std::string> const& given, std::size_t hosts) {
  std::string const origin = given ? "tasks_per_node" : "SLURM_STEP_TASKS_PER_NODE";
  auto counts = expand_task_counts(given ? *given : needed(environment, origin), origin);
  if (given && counts.size() == 1) counts.assign(hosts, counts.front());
  if (counts.size() != hosts)
    throw invalid(origin + ": it speaks of " + std::to_string(counts.size()) + " hosts, but " +
                  "SLURM_STEP_NODELIST has " + std::to_string(hosts));
  return counts;
}

using places = std::vector<slurm_resolver::step::place>;

/// `together`: how many ranks in a row a host gets each time its turn comes.
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
  // "cyclic:block,NoPack": the first word is about nodes, the rest about sockets and cores.
  auto const text = environment("SLURM_DISTRIBUTION").value_or("block");
  auto const word = text.substr(0, text.find_first_of(":,="));
  if (word == "block" || word == "*" || word.empty()) return in_turns(tasks_of_host, tasks_max);
  if (word == "cyclic") return in_turns(tasks_of_host, 1);
  if (word == "plane")
    return in_turns(tasks_of_host,
                    needed_number(environment, "SLURM_DIST_PLANESIZE", 1, tasks_max));
  throw invalid("SLURM_DISTRIBUTION: " + quoted(text) +
                " does not tell which rank is where; block, cyclic and plane do");
}

}  // namespace

slurm_resolver::step read_slurm_step(environment_lookup const& environment,
                                     std::optional<std::string> const& tasks_per_node) {
  slurm_resolver::step s;
  auto const tasks = needed_number(environment, "SLURM_STEP_NUM_TASKS", 1, tasks_max);
  s.rank = needed_number(environment, "SLURM_PROCID", 0, tasks_max - 1);
  if (s.rank >= tasks)
    throw invalid("SLURM_PROCID: " + std::to_string(s.rank) +
                  " is not below SLURM_STEP_NUM_TASKS, " + std::to_string(tasks));
  constexpr auto node_list = "SLURM_STEP_NODELIST";
  s.hosts = expand_hostlist(needed(environment, node_list), node_list);
  s.tasks_of_host = tasks_of_hosts(environment, tasks_per_node, s.hosts.size());
  auto const sum = std::accumulate(s.tasks_of_host.begin(), s.tasks_of_host.end(), std::int64_t{0});
  if (sum != tasks)
    throw invalid(std::string(tasks_per_node ? "tasks_per_node" : "SLURM_STEP_TASKS_PER_NODE") +
                  ": the hosts have " + std::to_string(sum) +
                  " tasks together, but SLURM_STEP_NUM_TASKS is " + std::to_string(tasks));
  s.places = lay_out(environment, s.tasks_of_host);
  return s;
}

}  // namespace cluster
}  // namespace muster
