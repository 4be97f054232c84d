#include "server/core/policies/transient_failures.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

namespace muster::core {

namespace {

constexpr std::size_t dependency_bytes_max = 128;
constexpr duration pause_first = std::chrono::milliseconds(100);
constexpr duration pause_most = std::chrono::seconds(5);

struct task_name {
  std::string job;
  std::uint32_t index = 0;
};

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

std::string transient_failures::wrong(failure const& f, known_task const& exists) const {
  if (f.dependencies.empty()) return "it lists no dependencies";
  if (f.dependencies.size() > config_.dependencies_max)
    return "it lists more than " + std::to_string(config_.dependencies_max) + " dependencies";
  auto const& declared = config_.declared_jobs;
  for (auto const& name : f.dependencies) {
    auto const t = parse_task(name);
    if (!t) return "'" + name + "' is not a task name such as ps:1";
    if (declared.empty() || exists(t->job, t->index)) continue;
    auto const job = std::find_if(declared.begin(), declared.end(),
                                  [&](auto const& j) { return j.first == t->job; });
    if (job == declared.end()) return "'" + name + "': the cluster has no job '" + t->job + "'";
    if (t->index >= job->second)
      return "'" + name + "': job '" + t->job + "' has only " + std::to_string(job->second) +
             (job->second == 1 ? " task" : " tasks");
  }
  return {};
}

std::size_t transient_failures::dependency_limit() const {
  return std::max<std::size_t>(config_.transient_dependency_failures, 1);
}

std::size_t transient_failures::count(transient_reports& of, std::string const& dependency,
                                      time_point now) {
  auto& all = of.dependencies;
  if (!all.contains(dependency) && all.size() >= config_.dependencies_max) {
    auto const oldest = std::min_element(all.begin(), all.end(), [](auto const& a, auto const& b) {
      return a.second.back() < b.second.back();
    });
    all.erase(oldest);
  }
  auto& reports = all[dependency];
  forget_before(reports, now - config_.transient_window);
  reports.push_back(now);
  while (reports.size() > dependency_limit())
    reports.pop_front();  // a session that continues after errors can exceed the limit
  return reports.size();
}

transient_failures::verdict transient_failures::dependencies_lost(transient_reports& all,
                                                                  failure const& f,
                                                                  time_point now) {
  verdict v;
  std::size_t most = 0;
  for (auto const& name : std::set<std::string>(f.dependencies.begin(), f.dependencies.end())) {
    auto const n = count(all, name, now);
    most = std::max(most, n);
    if (n >= dependency_limit()) v.fatal.push_back(name);
    v.counts.push_back({name, n});
  }
  v.pause = pause_first;  // the pause prevents one closure from reaching the limit alone
  for (std::size_t i = 1; i < most && v.pause < pause_most; ++i) v.pause *= 2;
  v.pause = std::min(v.pause, pause_most);
  return v;
}

bool transient_failures::tolerates_timeout(transient_reports& all, std::uint32_t workers,
                                           time_point now) {
  auto const limit = config_.transient_timeouts == config::timeouts_by_workers
                         ? workers / 10
                         : config_.transient_timeouts;
  if (limit == 0) return false;
  auto& reports = all.timeouts;
  forget_before(reports, now - config_.transient_window);
  reports.push_back(now);
  while (reports.size() > limit) reports.pop_front();
  return reports.size() < limit;
}

std::string transient_failures::invalid() const {
  for (auto const& [s, r] : sessions_) {
    if (r.dependencies.size() > config_.dependencies_max)
      return "the number of stored dependencies exceeds the limit";
    for (auto const& [name, times] : r.dependencies)
      if (times.empty() || times.size() > dependency_limit() ||
          !std::is_sorted(times.begin(), times.end()))
        return "the reports of '" + name + "' are missing, too many or out of order";
  }
  return {};
}

}  // namespace muster::core
