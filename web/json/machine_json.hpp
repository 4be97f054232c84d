// JSON of the machine data that workers report. Unknown values are omitted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/machine.hpp"
#include "server/history/machines/machines.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {

/// Declared here so that argument-dependent lookup finds members().
struct seen_machine {
  std::string cluster, task;  // both empty for the server's own machine
  core::time_point seen{};
  bool fresh = false;
  machine newest{};
  std::vector<history::machine_sample> samples{};
};

template <>
inline constexpr std::string_view schema_name<seen_machine> = "MachineView";

void machine_members(member_list const& m, machine const& seen);
void members(member_list const& m, seen_machine const& s);
void members(member_list const& m, core::task_view const& t, core::time_point now,
             std::optional<machine> const& seen);

/// Returns nothing if the worker has reported no data or the data is stale.
std::optional<machine> machine_of(history::machines const& all, core::task_view const& t,
                                  core::time_point now);

}  // namespace muster::web
