#include "server/core/coordination/task_descriptions.hpp"

#include <algorithm>
#include <cstdio>

namespace muster::core::coordination {
namespace {

constexpr std::size_t described_max = 20;
constexpr std::size_t missing_bytes_max = 2'000;

}  // namespace

std::string task_descriptions::seconds(duration d) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f s", std::chrono::duration<double>(d).count());
  return text;
}

// Example: "/job:worker/task:3-5,7 and 2 more". Merges adjacent indices within roles. The text has
// at most `bytes_max` bytes.
std::string task_descriptions::ranges(std::vector<task_index> const& tasks,
                                      std::size_t bytes_max) const {
  std::string text;
  std::size_t last_job = spec_.jobs.size();
  for (std::size_t i = 0; i < tasks.size();) {
    auto const [job, id] = spec_.place(tasks[i]);
    std::size_t n = 1;
    while (i + n < tasks.size() && tasks[i + n] == tasks[i] + n &&
           spec_.place(tasks[i + n]).first == job)
      ++n;
    auto part = job == last_job
                    ? std::string(",")
                    : (text.empty() ? "" : " ") + ("/job:" + spec_.jobs[job].name) + "/task:";
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

std::string task_descriptions::names(std::vector<task_index> const& tasks) const {
  return ranges(tasks, 1'000);
}

std::string task_descriptions::described(task_index t, time_point now) const {
  auto const& a = registry_[t];
  auto const name = spec_.task_name(t);
  if (a.last_seen == time_point{}) return name + " (never connected)";
  auto text = name + " (" + (a.peer.empty() ? "" : a.peer + ", ") + "last contact " +
              seconds(now - a.last_message_at()) + " ago";
  if (a.state == agent_state::error) text += ", in error";
  if (a.state == agent_state::disconnected && a.ever_connected) text += ", has left";
  return text + ")";
}

std::string task_descriptions::lines(std::vector<task_index> const& tasks, time_point now) const {
  constexpr std::size_t shown = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(tasks.size(), shown); ++i)
    text += "\n" + described(tasks[i], now);
  return tasks.size() <= shown ? text
                               : text + "\nand " + std::to_string(tasks.size() - shown) + " more";
}

std::string task_descriptions::heartbeats(task_index t) const {
  auto const& a = registry_[t];
  auto const sent = a.beat_interval != duration{}
                        ? "sent a heartbeat every " + seconds(a.beat_interval)
                    : a.beat_at != time_point{} ? std::string("has sent one heartbeat")
                                                : std::string("has sent no heartbeat");
  return "The cluster's heartbeat_timeout is " + seconds(spec_.heartbeat_timeout) + "; " +
         spec_.task_name(t) + " " + sent + ".";
}

std::string task_descriptions::missing_at(barrier const& b, time_point now) const {
  std::vector<task_index> missing;
  for (std::size_t i = 0; i < b.who->size(); ++i)
    if (b.is_missing(i)) missing.push_back((*b.who)[i]);
  auto text = "Missing " + std::to_string(missing.size()) + ": ";
  auto shown = missing;
  if (missing.size() > described_max) {
    text += ranges(missing, missing_bytes_max / 2) + ". Of these: ";
    std::stable_partition(shown.begin(), shown.end(),
                          [this](task_index t) { return !registry_[t].peer.empty(); });
    shown.resize(described_max);
  }
  for (std::size_t i = 0; i < shown.size(); ++i) {
    auto const part = (i ? ", " : "") + described(shown[i], now);
    if (text.size() + part.size() > missing_bytes_max) {
      text += " and " + std::to_string(missing.size() - i) + " more";
      break;
    }
    text += part;
  }
  if (b.gave_up_count > 0)
    text += ". Arrived but no longer waiting: " + std::to_string(b.gave_up_count);
  return text;
}

std::string const& task_descriptions::not_connected() {
  if (not_connected_version_ == registry_.version()) return not_connected_;
  std::vector<task_index> absent;
  for (task_index t = 0; t < registry_.size(); ++t)
    if (registry_[t].state != agent_state::connected) absent.push_back(t);
  not_connected_ = absent.empty() ? std::string(". All tasks are connected")
                                  : ". Not connected: " + ranges(absent, 1'500);
  not_connected_version_ = registry_.version();
  return not_connected_;
}

}  // namespace muster::core::coordination
