// Machines in the past, from history on disk.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "web/json/machine_json.hpp"
#include "web/rest/history/history_reading.hpp"

namespace muster::web {

/// An empty member matches all machines.
struct machine_filter {
  std::string task, host;
  /// Selects one machine for each of these hosts, because all workers on a host report the same
  /// data. The machine must belong to a listed worker, or to any worker if the host's list is
  /// empty. The server's own machine is never selected, because its control group can differ.
  std::optional<std::map<std::string, std::set<std::string>>> hosts{};

  bool takes(std::string const& of_task, std::string const& of_host) const {
    return (task.empty() || task == of_task) && (host.empty() || host == of_host) &&
           (!hosts || is_of_host(of_task, of_host));
  }

 private:
  bool is_of_host(std::string const& of_task, std::string const& of_host) const {
    auto const known = hosts->find(of_host);
    return !of_task.empty() && known != hosts->end() &&
           (known->second.empty() || known->second.contains(of_task));
  }
};

struct recorded_machines {
  core::page<seen_machine, std::uint64_t> page;
  // Data after this time was not read. Without a time range, this is the epoch.
  core::time_point until{};
};
void members(member_list const& m, recorded_machines const& all);

/// Returns at most `samples` mean values for each machine. `shown` returns the displayed name of a
/// cluster, or nothing to hide the cluster.
recorded_machines read_machines(
    server::history_store const& store, history_query const& q, machine_filter const& filter,
    std::size_t samples, std::uint64_t after,
    std::function<std::optional<std::string>(std::string const& cluster)> const& shown);

}  // namespace muster::web
