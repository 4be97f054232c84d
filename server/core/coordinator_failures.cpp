// Failures that a function reports and that are borne for a while: a lost dependency, such as a
// parameter server that restarts, and time-outs. Each session counts its own in a sliding window;
// the report that makes the number full is fatal, the ones before it put the closure back.
#include <algorithm>
#include <charconv>
#include <set>

#include "base/check.hpp"
#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {

constexpr std::size_t dependency_bytes_max = 128;
constexpr duration pause_first = std::chrono::milliseconds(100);
constexpr duration pause_most = std::chrono::seconds(5);

std::string seconds(duration d) {
  auto const s = std::chrono::duration_cast<std::chrono::seconds>(d).count();
  return s % 60 == 0 ? std::to_string(s / 60) + " min" : std::to_string(s) + " s";
}

struct task_name {
  std::string job;
  std::uint32_t index = 0;
};

// "ps:1"
std::optional<task_name> parse_task(std::string_view text) {
  auto const colon = text.rfind(':');
  if (text.size() > dependency_bytes_max || colon == std::string_view::npos || colon == 0)
    return std::nullopt;
  auto const plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  task_name t{std::string(text.substr(0, colon)), 0};
  auto const digits = text.substr(colon + 1);
  auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), t.index);
  if (error != std::errc{} || end != digits.data() + digits.size() || digits.empty() ||
      !std::all_of(t.job.begin(), t.job.end(), plain))
    return std::nullopt;
  return t;
}

void forget_before(std::deque<time_point>& reports, time_point t) {
  while (!reports.empty() && reports.front() <= t) reports.pop_front();
}

}  // namespace

std::string coordinator::state::wrong_dependency(failure const& f) const {
  if (f.dependencies.empty()) return "it names no dependency";
  if (f.dependencies.size() > config.dependencies_max)
    return "it names more than " + std::to_string(config.dependencies_max) + " dependencies";
  for (auto const& name : f.dependencies) {
    auto const t = parse_task(name);
    if (!t) return "'" + name + "' is not the name of a task, such as ps:1";
    if (config.declared_jobs.empty() || registry.find(t->job, t->index)) continue;
    auto const& declared = config.declared_jobs;
    auto const job = std::find_if(declared.begin(), declared.end(),
                                  [&](auto const& j) { return j.first == t->job; });
    if (job == declared.end()) return "'" + name + "': the cluster has no job '" + t->job + "'";
    if (t->index >= job->second)
      return "'" + name + "': the job has " + std::to_string(job->second) + " tasks";
  }
  return {};
}

// How often it was reported within the window, this time included. Every named one is counted.
std::size_t coordinator::state::count_report(session& s, std::string const& dependency) {
  auto& all = s.dependency_reports;
  if (!all.contains(dependency) && all.size() >= config.dependencies_max) {
    auto const oldest = std::min_element(all.begin(), all.end(), [](auto const& a, auto const& b) {
      return a.second.back() < b.second.back();
    });
    all.erase(oldest);
  }
  auto& reports = all[dependency];
  forget_before(reports, now - config.transient_window);
  reports.push_back(now);
  while (reports.size() > std::max<std::size_t>(config.transient_dependency_failures, 1))
    reports.pop_front();  // of a session that goes on after errors
  return reports.size();
}

void coordinator::state::dependency_lost(worker& w, slot c, failure f) {
  auto& s = *closures[c].owner;
  if (auto const wrong = wrong_dependency(f); !wrong.empty()) {
    f.kind = failure_kind::user;
    f.type = "muster::invalid_dependency";
    f.message = "INVALID_ARGUMENT: a DEPENDENCY_LOST failure cannot be taken: " + wrong +
                "; it said: " + f.message;
    f.dependencies.clear();
    ++w.task->failed;
    return fail(c, closure_state::failed, std::move(f));
  }
  auto const limit = std::max<std::size_t>(config.transient_dependency_failures, 1);
  auto const by = w.task->name();
  std::vector<std::string> fatal;
  std::size_t most = 0;
  std::string names;
  for (auto const& name : std::set<std::string>(f.dependencies.begin(), f.dependencies.end())) {
    auto const reports = count_report(s, name);
    most = std::max(most, reports);
    if (reports >= limit) fatal.push_back(name);
    names += (names.empty() ? "" : ", ") + name;
    fx.remarks.push_back({remark_kind::dependency_lost, name,
                          "reported by " + by + ", " + std::to_string(reports) + " of " +
                              std::to_string(limit) + " times within " +
                              seconds(config.transient_window) + ": " + f.message});
  }
  if (fatal.empty()) {
    auto pause = pause_first;  // so that one closure does not use up the number by itself
    for (std::size_t i = 1; i < most && pause < pause_most; ++i) pause *= 2;
    return put_back_closure(w, c, false, "lost " + names + ": " + f.message,
                            std::min(pause, pause_most));
  }
  names.clear();
  for (auto const& name : fatal) names += (names.empty() ? "" : ", ") + name;
  f.message = "UNAVAILABLE: " + names + (fatal.size() == 1 ? " is" : " are") + " lost: reported " +
              std::to_string(limit) + (limit == 1 ? " time" : " times") + " within " +
              seconds(config.transient_window) + ", the last by " + by + ": " + f.message;
  f.dependencies = std::move(fatal);
  ++w.task->failed;
  fail(c, closure_state::failed, std::move(f));
}

bool coordinator::state::bear_timeout(worker& w, slot c, failure const& f) {
  auto& s = *closures[c].owner;
  auto const workers_now = registry.count(task_state::connected) + registry.count(task_state::late);
  auto const limit = config.transient_timeouts == config::timeouts_by_workers
                         ? workers_now / 10
                         : config.transient_timeouts;
  if (limit == 0) return false;
  forget_before(s.timeout_reports, now - config.transient_window);
  s.timeout_reports.push_back(now);
  while (s.timeout_reports.size() > limit) s.timeout_reports.pop_front();
  if (s.timeout_reports.size() >= limit) return false;
  put_back_closure(w, c, false, "timed out: " + f.message);
  return true;
}

}  // namespace muster::core
