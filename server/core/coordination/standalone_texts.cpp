// Who is missing, in words: every name as long as it fits, then details of some: first of those
// that were heard of, since they can be looked at.
#include <algorithm>
#include <cstdio>

#include "server/core/coordination/standalone_service.hpp"

namespace muster::core::coordination {
namespace {

constexpr std::size_t described_max = 20;
constexpr std::size_t missing_bytes_max = 2'000;
// Metadata of a reply has 8 KB; this much is for text and details.
constexpr std::size_t trailer_bytes_max = 7'000;

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

// So much of the text as trailers can carry beside the details, which travel in base64; gRPC sends
// three bytes for each that is not printable ASCII.
std::string standalone_service::cut(std::string_view message, std::size_t details_bytes) {
  auto room = trailer_bytes_max - std::min(trailer_bytes_max, details_bytes * 4 / 3);
  std::size_t n = 0;
  for (; n < message.size() && n < message_bytes_max; ++n) {
    auto const plain = message[n] >= 0x20 && message[n] <= 0x7E && message[n] != '%';
    std::size_t const cost = plain ? 1 : 3;
    if (cost > room) break;
    room -= cost;
  }
  return shortened(message, n);
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

// Made once a second at most unless somebody comes or goes: ten thousand callers with one deadline
// all ask for it.
std::string const& standalone_service::missing_text(barrier_type& b) {
  if (!b.missing_stale && now_ - b.missing_at < std::chrono::seconds(1)) return b.missing;
  std::vector<task_index> missing;
  for (std::size_t i = 0; i < b.who->size(); ++i)
    if (b.calls[i] == call_id{} && !b.gave_up[i]) missing.push_back((*b.who)[i]);
  auto text = "Missing " + std::to_string(missing.size()) + ": ";
  auto shown = missing;
  if (missing.size() > described_max) {
    text += ranges(spec_, missing, missing_bytes_max / 2) + ". Of these: ";
    std::stable_partition(shown.begin(), shown.end(),
                          [this](task_index t) { return !roll_[t].peer.empty(); });
    shown.resize(described_max);
  }
  for (std::size_t i = 0; i < shown.size(); ++i) {
    auto const part = (i ? ", " : "") + described(shown[i]);
    if (text.size() + part.size() > missing_bytes_max) {
      text += " and " + std::to_string(missing.size() - i) + " more";
      break;
    }
    text += part;
  }
  if (b.gave_up_count > 0)
    text += ". Came, and gave up waiting: " + std::to_string(b.gave_up_count);
  b.missing_stale = false;
  b.missing_at = now_;
  return b.missing = std::move(text);
}

std::string const& standalone_service::absent_text() {
  if (absent_version_ == version_) return absent_;
  std::vector<task_index> absent;
  for (task_index t = 0; t < roll_.size(); ++t)
    if (roll_[t].state != agent_state::connected) absent.push_back(t);
  absent_ = absent.empty() ? std::string(". All tasks are connected")
                           : ". Not connected: " + ranges(spec_, absent, 1'500);
  absent_version_ = version_;
  return absent_;
}

// What a caller is told shortly before its own deadline.
std::string standalone_service::early_text(parked_call const& p) {
  auto const waited = " after " + seconds(now_ - p.since) + ", shortly before the call's deadline";
  if (p.kind == wait_kind::key)
    return with_cause("Key " + shortened(*p.key, 512) + " has not been set" + waited +
                      absent_text());
  if (p.kind != wait_kind::barrier) return with_cause("No answer" + waited + absent_text());
  auto& b = *p.barrier;
  auto const count =
      std::to_string(b.arrived_count + b.gave_up_count) + " of " + std::to_string(b.who->size());
  auto const missing = waited + ". " + missing_text(b);
  switch (b.purpose) {
    case barrier_purpose::registration:
      return with_cause(count + " tasks have registered" + missing);
    case barrier_purpose::shutdown:
      return with_cause("Shutdown: " + count + " tasks have come to leave" + missing);
    default:
      return with_cause("Barrier " + shortened(b.id, id_shown) + ": " + count + " tasks have come" +
                        missing);
  }
}

}  // namespace muster::core::coordination
