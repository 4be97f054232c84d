#include "cli/programs/launch_tasks.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cli/torchrun.hpp"

namespace muster::cli {
namespace {

constexpr std::uint64_t tasks_max = 4096;

[[noreturn]] void wrong_tasks(std::string const& text) {
  throw command_error(exit_usage,
                      "--tasks " + text + ": write N, MIN-MAX, or TYPE=N for each type, " +
                          "with commas between; N from 1 to " + std::to_string(tasks_max));
}

std::uint64_t count_in(std::string_view text, std::string const& all) {
  auto const count = muster::parse_number(text);
  if (!count || *count < 1 || *count > tasks_max) wrong_tasks(all);
  return *count;
}

json::object group_of(std::string_view text, std::string const& all) {
  auto const dash = text.find('-');
  if (dash == std::string_view::npos) return {{"count", count_in(text, all)}};
  auto const min = count_in(text.substr(0, dash), all);
  auto const max = count_in(text.substr(dash + 1), all);
  if (max < min) wrong_tasks(all);
  return {{"min", min}, {"max", max}};
}

json::object groups_of(std::string const& all) {
  json::object groups;
  std::string_view left = all;
  for (bool more = true; more;) {
    auto const comma = left.find(',');
    more = comma != std::string_view::npos;
    auto const one = left.substr(0, comma);
    auto const equals = one.find('=');
    bool const named = equals != std::string_view::npos;
    auto const type = named ? one.substr(0, equals) : "worker";
    if (type.empty() || groups.contains(type)) wrong_tasks(all);
    groups[type] = group_of(named ? one.substr(equals + 1) : one, all);
    if (more) left.remove_prefix(comma + 1);
  }
  return groups;
}

std::uint32_t amount_of(std::string const& name, std::string const& text) {
  auto const amount = muster::parse_number(text);
  if (!amount || *amount > UINT32_MAX)
    throw command_error(exit_usage, "--resource " + name + "=" + text + ": write NAME=N");
  return static_cast<std::uint32_t>(*amount);
}

// A value for one type takes precedence over a value for all types. A resource of 0 removes it from
// the type.
void give(json::object& groups, std::string const& flag, char const* member,
          std::map<std::string, json::value> const& said) {
  for (bool const of_one : {false, true}) {
    for (auto const& [name, what] : said) {
      auto const colon = name.find(':');
      if ((colon != std::string::npos) != of_one) continue;
      auto const type = of_one ? name.substr(0, colon) : "";
      if (of_one && !groups.contains(type))
        throw command_error(exit_usage, flag + " " + name + ": --tasks has no type '" + type + "'");
      for (auto& [each, group] : groups) {
        if (of_one && each != type) continue;
        auto& members = group.as_object()[member];
        if (members.is_null()) members.emplace_object();
        auto const key = of_one ? name.substr(colon + 1) : name;
        if (of_one && what == json::value(0u))
          members.as_object().erase(key);  // so that the value for all types excludes this type
        else
          members.as_object()[key] = what;
      }
    }
  }
}

}  // namespace

bool all_have_commands(json::object const& tasks) {
  return std::all_of(tasks.begin(), tasks.end(), [](auto const& group) {
    return group.value().as_object().contains("command");
  });
}

std::uint32_t expand_short_flags(launch_tasks& given, std::string const& nnodes) {
  if (given.gpus) given.resources.push_back("gpu=" + std::to_string(*given.gpus));
  if (given.tasks) return 0;
  auto const each = given.nproc.empty() ? 1 : muster::parse_number(given.nproc);
  if (!each || *each < 1 || *each > tasks_max)
    throw command_error(exit_usage, "--nproc " + given.nproc + ": write a number from 1 to " +
                                        std::to_string(tasks_max) +
                                        "; for N processes with one GPU each: --nproc N --gpus 1");
  if (nnodes.empty()) {
    given.tasks = std::to_string(*each);
    return 0;
  }
  auto const hosts = nnodes_of(nnodes);
  given.tasks = std::to_string(*each * hosts.min);
  if (hosts.max > hosts.min) *given.tasks += "-" + std::to_string(*each * hosts.max);
  return static_cast<std::uint32_t>(*each);
}

void add_launch_tasks(CLI::App& verb, launch_tasks& to) {
  auto* const tasks = add_value(
      verb, "--tasks", to.tasks, "N|TYPE=N[,…]",
      "Number of processes (1), which start together or not at all; MIN-MAX: as many as fit");
  add_value(verb, nproc_names, to.nproc, "N", "Number of processes; with --nnodes, on each host")
      ->excludes(tasks);
  add_value(verb, "--gpus", to.gpus, "N", "GPUs of each process; equivalent to --resource gpu=N");
  add_repeated(verb, "--resource", to.resources, "[TYPE:]NAME=N",
               "Resource that each process uses on its worker, for example gpu=4; may be repeated");
  add_repeated(verb, "--label", to.labels, "[TYPE:]KEY=VALUE",
               "Run only on workers with this label; may be repeated");
  add_repeated(verb, "--command", to.commands, "TYPE=COMMAND",
               "Shell command that processes of this type run instead; may be repeated");
}

json::object tasks_json(launch_tasks const& given) {
  auto groups = groups_of(given.tasks.value_or("1"));
  std::map<std::string, json::value> resources, labels;
  for (auto const& [name, text] : named_values("--resource", "NAME=N", given.resources))
    resources[name] = amount_of(name, text);
  for (auto const& [name, text] : named_values("--label", "KEY=VALUE", given.labels))
    labels[name] = text;
  give(groups, "--resource", "resources", resources);
  give(groups, "--label", "labels", labels);
  for (auto const& [type, text] : named_values("--command", "TYPE=COMMAND", given.commands)) {
    if (!groups.contains(type))
      throw command_error(exit_usage, "--command " + type + ": --tasks has no such type");
    groups[type].as_object()["command"] = {"sh", "-c", text};
  }
  return groups;
}

}  // namespace muster::cli
