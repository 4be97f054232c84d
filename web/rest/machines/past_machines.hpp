// Machines as they were at a time, put together from what is on disk. Pure but for the store that
// is read.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "web/json/machine_json.hpp"
#include "web/rest/past/past_reading.hpp"

namespace muster::web {

/// Which are wanted; what is empty takes all.
struct machine_filter {
  std::string task, host;
  /// Takes one machine of each of these hosts, since all workers of a host see the same. It is that
  /// of one of the workers named here, or of any worker where none is named; never the server's,
  /// whose control group may differ.
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

struct past_machines {
  core::page<seen_machine, std::uint64_t> page;
  core::time_point until{};  // what is later was not looked at; epoch: it was asked for no time
};
void members(member_list const& m, past_machines const& all);

/// `samples` at most of each machine, means of what there was. `shown`: the cluster's name for
/// people; none: it is not to be told.
past_machines read_machines(
    server::history_store const& store, past_query const& q, machine_filter const& filter,
    std::size_t samples, std::uint64_t after,
    std::function<std::optional<std::string>(std::string const& cluster)> const& shown);

}  // namespace muster::web
