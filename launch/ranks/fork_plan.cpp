#include "launch/ranks/fork_plan.hpp"

#include <sstream>
#include <stdexcept>

namespace muster::launch {
namespace {

// Returns whether the variable has a relative or empty entry, which would be resolved below the
// fork server's directory.
bool has_relative_path(environment_map const& environment, char const* name) {
  auto const it = environment.find(name);
  if (it == environment.end() || it->second.empty()) return false;
  std::istringstream all(it->second + ":");
  for (std::string one; std::getline(all, one, ':');)
    if (!one.starts_with('/')) return true;
  return false;
}

python_command python_of(rank_role const& role, fork_plan const& plan) {
  auto c = python_command_of(role.program.argv);
  auto const& environment = role.program.environment;
  if (has_relative_path(environment, "PYTHONPATH"))
    throw std::invalid_argument("PYTHONPATH contains a relative directory");
  bool const looked_for = role.program.argv.front().find('/') == std::string::npos;
  if (looked_for && has_relative_path(environment, "PATH"))
    throw std::invalid_argument("PATH contains a relative directory");
  if (!plan.interpreter.empty() && c.interpreter != plan.interpreter)
    throw std::invalid_argument(
        "another rank on this worker has a different interpreter or different options");
  return c;
}

void keep_common(environment_map& common, environment_map const& other) {
  std::erase_if(common, [&other](auto const& variable) {
    auto const it = other.find(variable.first);
    return it == other.end() || it->second != variable.second;
  });
}

}  // namespace

std::optional<fork_plan> plan_forks(start_order& order) {
  if (order.preload.empty()) return {};
  fork_plan plan;
  plan.modules = order.preload;
  for (auto& role : order.ranks) {
    try {
      role.python = python_of(role, plan);
    } catch (std::invalid_argument const& e) {
      role.not_preloaded = e.what();
      continue;
    }
    if (plan.interpreter.empty()) {
      plan.interpreter = role.python->interpreter;
      plan.environment = role.program.environment;
      plan.user = role.program.user;
    }
    keep_common(plan.environment, role.program.environment);
  }
  if (plan.interpreter.empty()) return {};
  std::erase_if(plan.environment,
                [](auto const& variable) { return is_set_per_attempt(variable.first); });
  return plan;
}

}  // namespace muster::launch
