#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "server/core/api/placeholders.hpp"
#include "server/core/texts/explanation_texts.hpp"
#include "server/core/transitions/admission/admission.hpp"

namespace muster::core {

namespace {

constexpr std::size_t inputs_max = 1'000;
constexpr std::int32_t priority_max = 1'000'000;
constexpr std::uint32_t retries_max = 10'000;
constexpr duration time_max = std::chrono::hours(24 * 365);
/// Limits for one closure. A closure that exceeds a limit is refused with INVALID_ARGUMENT.
constexpr std::size_t labels_max = 64;
constexpr std::size_t resources_max = 64;
constexpr std::size_t per_worker_max = 64;
constexpr std::size_t name_bytes_max = 256;

bool within(duration d) {
  return d >= duration{} && d <= time_max;
}

status valid_names(auto const& pairs, std::string const& field, std::size_t max) {
  if (pairs.size() > max)
    return wrong_field(
        field, std::to_string(pairs.size()) + " entries, the limit is " + std::to_string(max), max);
  for (auto const& [key, value] : pairs)
    if (key.empty() || key.size() > name_bytes_max)
      return wrong_field(field,
                         "a name must have 1 to " + std::to_string(name_bytes_max) + " bytes",
                         name_bytes_max);
  return {};
}

status above(char const* field, std::uint64_t is, std::uint64_t limit) {
  return wrong_field(field, std::to_string(is) + ", the limit is " + std::to_string(limit), limit);
}

}  // namespace

status admission::valid_extras(closure_spec const& spec, std::string const& at,
                               std::size_t position, bool streaming) const {
  auto const& x = *spec.extras;
  auto const& o = x.options;
  if (o.priority > priority_max || o.priority < -priority_max)
    return wrong_field(at + "options.priority",
                       "must be from -" + std::to_string(priority_max) + " to " +
                           std::to_string(priority_max) + ", got " + std::to_string(o.priority),
                       priority_max);
  if (o.max_retries > retries_max)
    return wrong_field(
        at + "options.max_retries",
        std::to_string(o.max_retries) + ", the limit is " + std::to_string(retries_max),
        retries_max);
  if (!within(o.delay)) return wrong_field(at + "options.delay", "must be between 0 and 365 days");
  if (!within(o.deadline))
    return wrong_field(at + "options.deadline", "must be between 0 and 365 days");
  if (!within(o.retry_initial) || !within(o.retry_max))
    return wrong_field(at + "options.retry", "the pauses must be between 0 and 365 days");
  if (x.inputs.size() > inputs_max)
    return wrong_field(at + "args",
                       "refer to " + std::to_string(x.inputs.size()) +
                           " RemoteValues; the limit is " + std::to_string(inputs_max),
                       inputs_max);
  if (auto needs = valid_needs(x, at); !needs.ok()) return needs;
  std::uint32_t gap = 0;
  bool const has_gaps = spec.args.encoding() == encoding::json;
  for (auto const& i : x.inputs) {
    if (has_gaps ? i.offset < gap || i.offset > spec.args.size() : i.offset > beside_pickled)
      return wrong_field(
          at + "args",
          "the offsets of inputs must be in ascending order, and within the arguments");
    gap = i.offset;
    if (i.closure == closure_id{} && i.position >= position)
      return wrong_field(at + "args", "refer to position " + std::to_string(i.position) +
                                          ", which is not an earlier closure of the request");
    if (!streaming && i.closure != closure_id{} && core_.closures.find(i.closure) == no_slot)
      return wrong_field(at + "args", texts_.unknown_value(i.closure).message, 0, code::not_found);
  }
  return {};
}

status admission::valid_needs(closure_extras const& x, std::string const& at) const {
  auto const& o = x.options;
  if (o.task_job.size() > name_bytes_max || o.task_index < -1 ||
      (o.task_job.empty() && o.task_index != -1))
    return wrong_field(at + "options.task", "must be a task name, such as worker:3, or a job name");
  if (auto wrong = valid_names(o.labels, at + "options.labels", labels_max); !wrong.ok())
    return wrong;
  if (auto wrong = valid_names(o.resources, at + "options.resources", resources_max); !wrong.ok())
    return wrong;
  for (auto const& [name, amount] : o.resources)
    if (amount == 0)
      return wrong_field(at + "options.resources", "'" + name + "' must be at least 1");
  if (x.per_worker.size() > per_worker_max)
    return wrong_field(at + "args",
                       "refer to " + std::to_string(x.per_worker.size()) +
                           " per-worker values; the limit is " + std::to_string(per_worker_max),
                       per_worker_max);
  for (auto const id : x.per_worker) {
    auto const* e = core_.builds.find(id);
    if (!e || e->released)
      return wrong_field(at + "args", texts_.unknown_per_worker(id).message, 0, code::not_found);
  }
  return {};
}

status admission::valid(std::vector<closure_spec> const& specs, session_spec const& session) const {
  auto const at = [](std::size_t i) { return "closures[" + std::to_string(i) + "].function"; };
  bool plain = true;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!core_.book.functions.knows(specs[i].function))
      return wrong_field(at(i), "unknown function number");
    if (!specs[i].extras) continue;
    plain = false;
    auto const extras = valid_extras(specs[i], "closures[" + std::to_string(i) + "].", i,
                                     session.delivery == delivery::resumable);
    if (!extras.ok()) return extras;
  }
  return plain ? status{} : core::scheduler::valid_gangs(specs);
}

std::string admission::unserved(function_id f, session_spec const& session) const {
  if (!session.require_function || core_.book.functions[f].workers > 0) return {};
  return text_of_missing_function(core_.book.functions[f].name);
}

status admission::served(std::vector<closure_spec> const& specs,
                         session_spec const& session) const {
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (auto const why = unserved(specs[i].function, session); !why.empty())
      return wrong_field("closures[" + std::to_string(i) + "].function", why, 0,
                         code::failed_precondition);
  return {};
}

status admission::valid(session_spec const& spec) const {
  if (spec.queue_capacity > core_.step.config.queue_capacity_max)
    return above("queue_capacity", spec.queue_capacity, core_.step.config.queue_capacity_max);
  if (spec.max_worker_failures > worker_failures_max)
    return above("max_worker_failures", spec.max_worker_failures, worker_failures_max);
  if (spec.num_workers > core_.step.config.tasks_max)
    return above("num_workers", spec.num_workers, core_.step.config.tasks_max);
  if (spec.durable.value_or(false) && spec.delivery == delivery::stream)
    return wrong_field("durable", "a stream can be durable only if it holds values (hold_values)");
  if (spec.durable.value_or(false) && !core_.step.config.durable)
    return wrong_field(
        "durable",
        "the server stores nothing on disk; start it with --data-dir, or submit without 'durable'",
        0, code::failed_precondition);
  if (spec.weight == 0 || spec.weight > 1'000)
    return wrong_field("weight", "must be from 1 to 1000");
  if (!within(spec.deadline)) return wrong_field("deadline", "must be between 0 and 365 days");
  if (spec.grace < duration{} || spec.grace > core_.step.config.session_grace_max)
    return wrong_field(
        "session_grace",
        "must be between 0 and " +
            std::to_string(core_.step.config.session_grace_max / std::chrono::seconds(1)) + " s");
  return {};
}

}  // namespace muster::core
