#include "muster/cluster_spec.hpp"

#include <boost/json/serialize.hpp>

#include "launch/cluster/resolver_text.hpp"
#include "launch/cluster/spec_json.hpp"

namespace muster {
namespace {

using cluster::invalid;
using cluster::missing;
using cluster::quoted;

void check_name(std::string const& name) {
  if (name.empty()) throw invalid("a job has no name");
  if (name.size() > cluster_spec::name_bytes_max)
    throw invalid("job " + quoted(name) + ": its name is longer than " +
                  std::to_string(cluster_spec::name_bytes_max) + " bytes");
  if (cluster::has_control_character(name))
    throw invalid("job " + quoted(name) + ": its name contains a control character");
}

void check_task(std::string const& job, int index, std::string const& address) {
  auto const fault = [&](std::string const& what) {
    return invalid("job " + quoted(job) + ", task " + std::to_string(index) + ": " + what);
  };
  if (index < 0) throw fault("the index is negative");
  if (static_cast<std::size_t>(index) >= cluster_spec::tasks_max)
    throw fault("the highest index is " + std::to_string(cluster_spec::tasks_max - 1));
  if (address.empty()) throw fault("the address is empty");
  if (address.size() > cluster_spec::address_bytes_max)
    throw fault("the address is longer than " + std::to_string(cluster_spec::address_bytes_max) +
                " bytes");
  if (cluster::has_control_character(address))
    throw fault("the address " + quoted(address) + " contains a control character");
}

bool dense(cluster_spec::tasks const& tasks) {
  return tasks.empty() || tasks.rbegin()->first + 1 == static_cast<int>(tasks.size());
}

}  // namespace

cluster_spec::cluster_spec(job_map jobs) {
  if (jobs.size() > jobs_max)
    throw invalid(std::to_string(jobs.size()) + " jobs; the limit is " + std::to_string(jobs_max));
  std::size_t total = 0;
  for (auto& [name, members] : jobs) {
    check_name(name);
    total += members.size();
    if (total > tasks_max)
      throw invalid("the cluster has more than " + std::to_string(tasks_max) +
                    " tasks, which is the limit");
    for (auto const& [index, address] : members) check_task(name, index, address);
    jobs_.emplace_hint(jobs_.end(), name, std::move(members));
  }
}

cluster_spec cluster_spec::from_json(std::string_view text, std::string const& origin) {
  return cluster::spec_from(cluster::parse_json(text, origin), origin, "");
}

std::string cluster_spec::to_json() const {
  boost::json::object all;
  for (auto const& [name, members] : jobs_) {
    auto& out = all[name];
    if (members.empty() || !dense(members)) {
      auto& object = out.emplace_object();
      for (auto const& [index, address] : members) object.emplace(std::to_string(index), address);
    } else {
      auto& list = out.emplace_array();
      for (auto const& [index, address] : members) list.emplace_back(address);
    }
  }
  return boost::json::serialize(all);
}

std::vector<std::string> cluster_spec::jobs() const {
  std::vector<std::string> names;
  for (auto const& [name, members] : jobs_) names.push_back(name);
  return names;
}

bool cluster_spec::has_task(std::string_view job, int index) const {
  auto const found = jobs_.find(job);
  return found != jobs_.end() && found->second.count(index) > 0;
}

std::size_t cluster_spec::size() const {
  std::size_t n = 0;
  for (auto const& [name, members] : jobs_) n += members.size();
  return n;
}

cluster_spec::tasks const& cluster_spec::job(std::string_view name) const {
  auto const found = jobs_.find(name);
  if (found == jobs_.end())
    throw missing("no such job in cluster: " + quoted(name) + " (its jobs are " +
                  cluster::listed(jobs()) + ")");
  return found->second;
}

std::vector<int> cluster_spec::task_indices(std::string_view job_name) const {
  std::vector<int> indices;
  for (auto const& [index, address] : job(job_name)) indices.push_back(index);
  return indices;
}

std::string const& cluster_spec::task_address(std::string_view job_name, int index) const {
  auto const& members = job(job_name);
  auto const found = members.find(index);
  if (found != members.end()) return found->second;
  auto const there = members.empty() ? "which has no tasks"
                     : dense(members)
                         ? "which has tasks 0 to " + std::to_string(members.rbegin()->first)
                         : "which has " + std::to_string(members.size()) + " tasks, the last " +
                               std::to_string(members.rbegin()->first);
  throw missing("no task with index " + std::to_string(index) + " in job " + quoted(job_name) +
                ", " + there);
}

std::vector<std::optional<std::string>> cluster_spec::job_tasks(std::string_view job_name) const {
  auto const& members = job(job_name);
  std::vector<std::optional<std::string>> all;
  if (members.empty()) return all;
  all.resize(static_cast<std::size_t>(members.rbegin()->first) + 1);
  for (auto const& [index, address] : members) all[static_cast<std::size_t>(index)] = address;
  return all;
}

bool cluster_spec::is_dense(std::string_view job_name) const {
  return dense(job(job_name));
}

}  // namespace muster
