// Who is missing, in words: every name as long as it fits, the details for the first ones.
#include <algorithm>
#include <cstdio>

#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {
namespace {

constexpr std::size_t described_max = 20;

std::string seconds(duration d) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(d).count());
  return text;
}

// "/job:worker/task:3-5,7 and 2 more": runs of neighbours within jobs, up to `bytes_max`.
std::string ranges(cluster_spec const& spec, std::vector<task_index> const& tasks,
                   std::size_t bytes_max) {
  std::string text;
  std::size_t last_job = spec.jobs.size();
  for (std::size_t i = 0; i < tasks.size();) {
    auto const [job, id] = spec.place(tasks[i]);
    std::size_t n = 1;
    while (i + n < tasks.size() && tasks[i + n] == tasks[i] + n &&
           spec.place(tasks[i + n]).first == job)
      ++n;
    auto part = job == last_job
                    ? std::string(",")
                    : (text.empty() ? "" : " ") + ("/job:" + spec.jobs[job].name) + "/task:";
    part += std::to_string(id);
    if (n > 1) part += "-" + std::to_string(id + n - 1);
    if (text.size() + part.size() > bytes_max)
      return text + " and " + std::to_string(tasks.size() - i) + " more";
    text += part;
    last_job = job;
    i += n;
  }
  return text;
}

}  // namespace

std::string standalone_service::cut(std::string message) {
  if (message.size() <= message_bytes_max) return message;
  message.resize(message_bytes_max);
  return message + " ... [truncated]";
}

// "/job:worker/task:3 (10.0.0.3:4711, last heard of 12.0 s ago)"
std::string standalone_service::described(task_index t) const {
  auto const& a = roll_[t];
  if (a.last_seen == time_point{}) return task_name(t) + " (never heard of)";
  auto const seen = std::max(a.last_seen, a.last_heartbeat);
  auto text = task_name(t) + " (" + (a.peer.empty() ? "" : a.peer + ", ") + "last heard of " +
              seconds(now_ - seen) + " ago";
  if (a.state == agent_state::error) text += ", in error";
  if (a.state == agent_state::disconnected && a.ever_connected) text += ", has left";
  return text + ")";
}

std::string standalone_service::missing_text(barrier_type const& b, std::size_t bytes_max) const {
  std::vector<task_index> missing;
  for (std::size_t i = 0; i < b.who->size(); ++i)
    if (b.calls[i] == call_id{}) missing.push_back((*b.who)[i]);
  auto text = "Missing " + std::to_string(missing.size()) + ": ";
  if (missing.size() > described_max) return text + ranges(spec_, missing, bytes_max);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    auto const part = (i ? ", " : "") + described(missing[i]);
    if (text.size() + part.size() > bytes_max)
      return text + " and " + std::to_string(missing.size() - i) + " more";
    text += part;
  }
  return text;
}

// What a caller is told shortly before its own deadline.
std::string standalone_service::early_text(parked_call const& p) const {
  auto const waited = " after " + seconds(now_ - p.since) + ", shortly before the call's deadline";
  if (p.kind == wait_kind::barrier) {
    auto const& b = *p.barrier;
    auto const count = std::to_string(b.arrived_count) + " of " + std::to_string(b.who->size());
    auto const missing = missing_text(b, 2'000);
    switch (b.purpose) {
      case barrier_purpose::registration:
        return with_cause(count + " tasks have registered" + waited + ". " + missing);
      case barrier_purpose::shutdown:
        return with_cause("Shutdown: " + count + " tasks have come to leave" + waited + ". " +
                          missing);
      default:
        return with_cause("Barrier " + b.id + ": " + count + " tasks have come" + waited + ". " +
                          missing);
    }
  }
  std::vector<task_index> absent;
  for (task_index t = 0; t < roll_.size(); ++t)
    if (roll_[t].state != agent_state::connected) absent.push_back(t);
  auto const who = absent.empty() ? std::string(". All tasks are connected")
                                  : ". Not connected: " + ranges(spec_, absent, 1'500);
  if (p.kind == wait_kind::key)
    return with_cause("Key " + p.key->substr(0, 512) + " has not been set" + waited + who);
  return with_cause("No answer" + waited + who);
}

}  // namespace muster::core::coordination
