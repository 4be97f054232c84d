#include "server/rpc/workers/worker_hello.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "server/rpc/workers/worker_convert.hpp"

namespace muster::server {
namespace {

constexpr std::size_t job_bytes_max = 64;
constexpr std::size_t labels_max = 64;
constexpr std::size_t label_key_bytes_max = 128;
constexpr std::size_t label_value_bytes_max = 256;
constexpr std::size_t host_bytes_max = 256;
constexpr std::size_t version_bytes_max = 128;

muster::status wrong(std::string field, std::string const& what) {
  return {muster::code::invalid_argument, "hello." + std::move(field) + ": " + what};
}

std::string longer_than(std::size_t size, std::size_t max) {
  return std::to_string(size) + " bytes, the limit is " + std::to_string(max);
}

bool is_name(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  });
}

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

muster::status check_names(v1::Hello const& h) {
  if (h.job().size() > job_bytes_max)
    return wrong("job", longer_than(h.job().size(), job_bytes_max));
  if (!is_name(h.job()))
    return wrong("job", "'" + h.job() + "' contains characters other than A-Z a-z 0-9 _ . -");
  if (h.host().size() > host_bytes_max)
    return wrong("host", longer_than(h.host().size(), host_bytes_max));
  if (has_control(h.host())) return wrong("host", "contains control characters");
  if (h.version().size() > version_bytes_max)
    return wrong("version", longer_than(h.version().size(), version_bytes_max));
  if (has_control(h.version())) return wrong("version", "contains control characters");
  return {};
}

muster::status check_numbers(v1::Hello const& h) {
  if (h.incarnation() == 0) return wrong("incarnation", "must be a random number other than 0");
  if (h.slots() == 0) return wrong("slots", "must be at least 1, got 0");
  if (h.credits() < h.slots())
    return wrong("credits", "must be at least slots (" + std::to_string(h.slots()) + "), got " +
                                std::to_string(h.credits()));
  return {};
}

muster::status check_group(v1::Hello const& h, core::config const& limits) {
  if (h.group() == 0) return {};
  if (h.group_size() == 0 || h.group_size() > limits.tasks_max)
    return wrong("group_size", "must be from 1 to " + std::to_string(limits.tasks_max) + ", got " +
                                   std::to_string(h.group_size()));
  if (h.group_position() >= h.group_size())
    return wrong("group_position", "must be less than group_size (" +
                                       std::to_string(h.group_size()) + "), got " +
                                       std::to_string(h.group_position()));
  return {};
}

muster::status check_functions(v1::Hello const& h, core::config const& limits) {
  auto const count = static_cast<std::size_t>(h.function_size());
  if (count > limits.functions_per_worker_max)
    return {muster::code::resource_exhausted, "hello.function: " + std::to_string(count) +
                                                  " functions, the limit is " +
                                                  std::to_string(limits.functions_per_worker_max)};
  std::unordered_set<std::string_view> seen;
  for (int i = 0; i < h.function_size(); ++i) {
    auto const& name = h.function(i);
    auto const field = "function[" + std::to_string(i) + "]";
    if (name.empty()) return wrong(field, "empty");
    if (name.size() > limits.function_name_bytes_max)
      return wrong(field, longer_than(name.size(), limits.function_name_bytes_max));
    if (has_control(name)) return wrong(field, "contains control characters");
    if (!seen.insert(name).second) return wrong(field, "'" + name + "' is declared twice");
  }
  return {};
}

muster::status check_labels(v1::Hello const& h) {
  if (static_cast<std::size_t>(h.label_size()) > labels_max)
    return wrong("label", std::to_string(h.label_size()) + " labels, the limit is " +
                              std::to_string(labels_max));
  for (auto const& [key, value] : h.label()) {
    if (key.empty()) return wrong("label", "a key is empty");
    if (key.size() > label_key_bytes_max)
      return wrong("label", "key of " + longer_than(key.size(), label_key_bytes_max));
    if (value.size() > label_value_bytes_max)
      return wrong("label", "'" + key + "': " + longer_than(value.size(), label_value_bytes_max));
    if (has_control(key) || has_control(value))
      return wrong("label", "contains control characters");
  }
  return {};
}

muster::status check_resources(v1::Hello const& h, core::config const& limits) {
  if (static_cast<std::size_t>(h.resource_size()) > labels_max)
    return wrong("resource", std::to_string(h.resource_size()) + " resources, the limit is " +
                                 std::to_string(labels_max));
  for (auto const& [name, amount] : h.resource()) {
    if (name.empty() || has_control(name))
      return wrong("resource", "a name is empty or contains control characters");
    if (name.size() > label_key_bytes_max)
      return wrong("resource", "name of " + longer_than(name.size(), label_key_bytes_max));
  }
  if (static_cast<std::size_t>(h.per_worker_size()) > limits.per_worker_values_max)
    return wrong("per_worker", std::to_string(h.per_worker_size()) + " values, the limit is " +
                                   std::to_string(limits.per_worker_values_max));
  return {};
}

}  // namespace

muster::result<core::worker_spec> from_wire(v1::Hello const& h, core::config const& limits) {
  for (auto const& problem :
       {check_names(h), check_numbers(h), check_group(h, limits), check_functions(h, limits),
        check_labels(h), check_resources(h, limits)})
    if (!problem.ok()) return problem;

  core::worker_spec spec;
  if (!h.job().empty()) spec.job = h.job();
  if (h.has_index()) spec.index = h.index();
  if (h.has_last_index()) spec.last_index = h.last_index();
  spec.incarnation = core::incarnation{h.incarnation()};
  spec.replaces = core::incarnation{h.replaces()};
  if (h.group() != 0) {
    spec.group = h.group();
    spec.group_size = h.group_size();
    spec.group_position = h.group_position();
  }
  spec.stream = h.stream();
  spec.credits = std::min(h.credits(), limits.credits_max);
  spec.slots = std::min(h.slots(), spec.credits);
  spec.functions.assign(h.function().begin(), h.function().end());
  spec.labels.assign(h.label().begin(), h.label().end());
  std::sort(spec.labels.begin(), spec.labels.end());
  spec.resources.assign(h.resource().begin(), h.resource().end());
  std::sort(spec.resources.begin(), spec.resources.end());
  for (auto const v : h.per_worker()) spec.per_worker.push_back(core::per_worker_id{v});
  spec.host = h.host();
  spec.version = h.version();
  spec.pid = h.pid();
  return spec;
}

muster::result<std::vector<core::held_closure>> held_from_wire(v1::Hello const& h) {
  auto const count = h.held_closure_size();
  if (h.held_attempt_size() != count)
    return wrong("held_attempt", std::to_string(h.held_attempt_size()) + " entries for " +
                                     std::to_string(count) + " closures");
  if (static_cast<std::uint32_t>(count) > h.credits())
    return wrong("held_closure", std::to_string(count) + " closures, which exceeds credits (" +
                                     std::to_string(h.credits()) + ")");
  std::vector<core::held_closure> held;
  std::unordered_set<std::uint64_t> seen;
  for (int i = 0; i < count; ++i) {
    if (!seen.insert(h.held_closure(i)).second)
      return wrong("held_closure[" + std::to_string(i) + "]", "listed twice");
    held.push_back({core::closure_id{h.held_closure(i)}, h.held_attempt(i)});
  }
  for (auto const i : h.held_waits()) {
    if (i >= held.size())
      return wrong("held_waits", std::to_string(i) + ", but there are " +
                                     std::to_string(held.size()) + " held closures");
    held[i].waits = true;
  }
  return held;
}

muster::result<std::vector<core::worker_result>> answers_from_wire(v1::Hello const& h) {
  auto const& a = h.answers();
  if (a.closure_size() > kept_answers_max)
    return wrong("answers", std::to_string(a.closure_size()) + " answers, the limit is " +
                                std::to_string(kept_answers_max));
  std::unordered_set<std::uint64_t> seen(h.held_closure().begin(), h.held_closure().end());
  for (int i = 0; i < a.closure_size(); ++i)
    if (!seen.insert(a.closure(i)).second)
      return wrong("answers.closure[" + std::to_string(i) + "]", "listed twice");
  std::vector<core::worker_result> answers;
  if (auto const problem = from_wire(a, answers); !problem.empty())
    return muster::status{muster::code::invalid_argument, "hello.answers." + problem};
  return answers;
}

}  // namespace muster::server
