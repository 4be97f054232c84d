// Machines as they were at a time, put together from what is on disk. Pure but for the store that
// is read.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "web/json/machine_json.hpp"
#include "web/rest/past/past_reading.hpp"

namespace muster::web {

/// Which are wanted; what is empty takes all.
struct machine_filter {
  std::string task, host;
  /// Of each of these hosts one worker's machine alone: they see the same. Not the server's, whose
  /// control group may be another.
  std::optional<std::set<std::string>> hosts{};

  bool takes(std::string const& of_task, std::string const& of_host) const {
    return (task.empty() || task == of_task) && (host.empty() || host == of_host) &&
           (!hosts || (!of_task.empty() && hosts->contains(of_host)));
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
