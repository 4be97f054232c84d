// Validates program specifications. Returns the first error with its field.
#include <algorithm>
#include <set>
#include <string_view>

#include "server/core/api/idempotency.hpp"
#include "server/core/programs/controller.hpp"

namespace muster::core::programs {
namespace {

constexpr std::size_t name_bytes_max = 128;
constexpr std::size_t type_bytes_max = 64;
constexpr std::size_t path_bytes_max = 4'096;
constexpr std::size_t step_pattern_bytes_max = 256;

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

// Accepts letters of other alphabets, which the Python interpreter checks.
bool is_module(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return c > ' ' && c != '-' && c != '/' && c != ',' && c != '\x7f';
  });
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

status too_long(std::string field, std::size_t is, std::size_t max) {
  return wrong_field(std::move(field),
                     std::to_string(is) + " bytes, the limit is " + std::to_string(max), max);
}

std::size_t bytes_of(std::vector<std::string> const& command) {
  std::size_t sum = 0;
  for (auto const& word : command) sum += word.size() + 1;
  return sum;
}

status valid_command(std::string const& field, std::vector<std::string> const& command,
                     program_limits const& limits) {
  for (auto const& word : command)
    if (has_nul(word)) return wrong_field(field, "an argument contains a NUL byte");
  auto const bytes = bytes_of(command);
  if (bytes > limits.command_bytes_max) return too_long(field, bytes, limits.command_bytes_max);
  if (!command.empty() && command.front().empty())
    return wrong_field(field, "the first argument is empty");
  return {};
}

status valid_env(program_spec const& spec, program_limits const& limits) {
  std::size_t bytes = 0;
  std::set<std::string_view> names;
  for (auto const& [name, value] : spec.env) {
    if (name.empty() || has_nul(name) || name.find('=') != std::string::npos)
      return wrong_field("env", "'" + name + "' is not a valid environment variable name");
    if (has_nul(value)) return wrong_field("env." + name, "contains a NUL byte");
    if (!names.insert(name).second) return wrong_field("env." + name, "specified twice");
    bytes += name.size() + value.size() + 2;
  }
  return bytes > limits.env_bytes_max ? too_long("env", bytes, limits.env_bytes_max) : status{};
}

status valid_upload(program_spec const& spec) {
  if (spec.upload.empty()) return {};
  bool const hash = spec.upload.size() == 64 &&
                    spec.upload.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hash)
    return wrong_field("upload", "must be the SHA-256 of a blob: 64 lowercase hexadecimal digits");
  if (spec.working_dir.empty()) return {};
  return wrong_field(
      "upload",
      "cannot be combined with working_dir: each upload is unpacked into its own directory");
}

status valid_preload(program_spec const& spec, program_limits const& limits) {
  if (spec.preload.size() > limits.names_max)
    return wrong_field("preload", "more than " + std::to_string(limits.names_max) + " modules",
                       limits.names_max);
  for (auto const& module : spec.preload)
    if (module.empty() || module.size() > name_bytes_max || !is_module(module))
      return wrong_field("preload", "'" + module + "' is not a valid Python module name");
  return {};
}

template <class Value>
status valid_names(std::string const& field, std::vector<std::pair<std::string, Value>> const& all,
                   program_limits const& limits) {
  std::set<std::string_view> names;
  for (auto const& [name, value] : all) {
    if (name.empty() || name.size() > name_bytes_max)
      return wrong_field(field,
                         "a name must have 1 to " + std::to_string(name_bytes_max) + " bytes");
    if (!names.insert(name).second) return wrong_field(field, "'" + name + "' is specified twice");
  }
  if (all.size() <= limits.names_max) return {};
  return wrong_field(field, "more than " + std::to_string(limits.names_max) + " names",
                     limits.names_max);
}

// A worker receives all its orders in one message, and each order contains a command.
status valid_orders(program_spec const& spec, program_limits const& limits) {
  std::uint64_t sum = 0;
  for (auto const& t : spec.tasks) {
    auto const there = std::min(t.max, limits.worker_ranks_max);
    sum += bytes_of(t.command.empty() ? spec.command : t.command) * there;
  }
  if (sum <= limits.orders_bytes_max) return {};
  return wrong_field("command",
                     std::to_string(sum) + " bytes for all ranks of one worker; the limit is " +
                         std::to_string(limits.orders_bytes_max),
                     limits.orders_bytes_max);
}

status valid_group(program_tasks const& t, program_spec const& spec, program_limits const& limits) {
  auto const field = "tasks." + t.type;
  if (!is_name(t.type) || t.type.size() > type_bytes_max)
    return wrong_field(field, "a type must have 1 to " + std::to_string(type_bytes_max) +
                                  " characters of A-Z a-z 0-9 _ . -");
  if (t.max == 0 || t.min > t.max || t.min == 0)
    return wrong_field(field, "min must be at least 1, and max must not be less than min");
  if (t.max > limits.ranks_max)
    return wrong_field(
        field, std::to_string(t.max) + " tasks, the limit is " + std::to_string(limits.ranks_max),
        limits.ranks_max);
  if (t.type == "chief" && t.max > 1)
    return wrong_field(field, "a program can have at most one chief");
  if (auto wrong = valid_names(field + ".resources", t.resources, limits); !wrong.ok())
    return wrong;
  if (auto wrong = valid_names(field + ".labels", t.labels, limits); !wrong.ok()) return wrong;
  if (t.command.empty() && spec.command.empty())
    return wrong_field("command", "required, unless every task type has its own command");
  return valid_command(field + ".command", t.command, limits);
}

status valid_ends(program_spec const& spec, program_limits const& limits) {
  if (spec.ends_with.size() > limits.names_max)
    return wrong_field("ends_with", "more than " + std::to_string(limits.names_max) + " names",
                       limits.names_max);
  for (auto const& named : spec.ends_with) {
    bool const known = std::any_of(spec.tasks.begin(), spec.tasks.end(), [&](auto const& t) {
      if (named == t.type) return true;
      for (std::uint32_t i = 0; i < t.min; ++i)
        if (named == t.type + ":" + std::to_string(i)) return true;
      return false;
    });
    if (!known) return wrong_field("ends_with", "there is no task or task type '" + named + "'");
  }
  return {};
}

}  // namespace

status valid(program_spec const& spec, program_limits const& limits) {
  if (spec.name.size() > name_bytes_max || !is_name(spec.name))
    return wrong_field(
        "name", "at most " + std::to_string(name_bytes_max) + " characters of A-Z a-z 0-9 _ . -");
  if (auto wrong = valid_command("command", spec.command, limits); !wrong.ok()) return wrong;
  if (spec.tasks.empty())
    return wrong_field("tasks", "required: the task types and the number of tasks of each type");
  if (spec.tasks.size() > limits.types_max)
    return wrong_field("tasks", "more than " + std::to_string(limits.types_max) + " task types",
                       limits.types_max);
  std::uint64_t ranks = 0;
  std::set<std::string_view> types;
  for (auto const& t : spec.tasks) {
    if (!types.insert(t.type).second) return wrong_field("tasks." + t.type, "specified twice");
    if (auto wrong = valid_group(t, spec, limits); !wrong.ok()) return wrong;
    ranks += t.max;
  }
  if (ranks > limits.ranks_max)
    return wrong_field(
        "tasks", std::to_string(ranks) + " tasks, the limit is " + std::to_string(limits.ranks_max),
        limits.ranks_max);
  if (auto wrong = valid_env(spec, limits); !wrong.ok()) return wrong;
  if (spec.working_dir.size() > path_bytes_max || has_nul(spec.working_dir))
    return wrong_field("working_dir", "must be a path without NUL bytes, of at most " +
                                          std::to_string(path_bytes_max) + " bytes");
  if (!spec.working_dir.empty() && spec.working_dir.front() != '/')
    return wrong_field("working_dir", "must be an absolute path");
  if (spec.notice > duration{} && spec.notice >= spec.deadline)
    return wrong_field("notice", "requires a deadline, and must be shorter than the deadline");
  if (spec.hang_after < limits.hang_after_min)
    return wrong_field("hang_after", "must be at least 1 s");
  if (spec.spares > limits.spares_max)
    return wrong_field(
        "spares",
        std::to_string(spec.spares) + ", the limit is " + std::to_string(limits.spares_max),
        limits.spares_max);
  if (spec.step_pattern.size() > step_pattern_bytes_max)
    return too_long("step_pattern", spec.step_pattern.size(), step_pattern_bytes_max);
  if (auto wrong = valid_upload(spec); !wrong.ok()) return wrong;
  if (auto wrong = valid_preload(spec, limits); !wrong.ok()) return wrong;
  if (spec.idempotency_key.size() > idempotency_key_bytes_max)
    return too_long("idempotency_key", spec.idempotency_key.size(), idempotency_key_bytes_max);
  if (spec.metadata.size() > limits.metadata_bytes_max)
    return too_long("metadata", spec.metadata.size(), limits.metadata_bytes_max);
  if (auto wrong = valid_orders(spec, limits); !wrong.ok()) return wrong;
  return valid_ends(spec, limits);
}

}  // namespace muster::core::programs
