// What workers see of their machines. What is not known is missing, not zero.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/machine.hpp"
#include "server/history/machines/machines.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {

/// Found by the members of this namespace.
struct seen_machine {
  std::string cluster, task;  // no task: the server itself
  core::time_point seen{};
  bool fresh = false;
  machine newest{};
  std::vector<history::machine_sample> samples{};
};

template <>
inline constexpr std::string_view schema_name<seen_machine> = "MachineView";

void machine_members(member_list const& m, machine const& seen);
void members(member_list const& m, seen_machine const& s);
/// A task with what its worker sees of its machine.
void members(member_list const& m, core::task_view const& t, core::time_point now,
             std::optional<machine> const& seen);

/// Of the worker now: none when it says nothing, or nothing any more.
std::optional<machine> machine_of(history::machines const& all, core::task_view const& t,
                                  core::time_point now);

}  // namespace muster::web
