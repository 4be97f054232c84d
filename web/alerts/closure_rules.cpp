#include <algorithm>
#include <functional>

#include "base/text.hpp"
#include "server/core/texts/explanation_texts.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/alerts/alerts.hpp"
#include "web/alerts/words.hpp"

namespace muster::web {
namespace {

std::string name_of(core::task_view const& t) {
  return t.job + ":" + std::to_string(t.index);
}

std::string worker_page(core::task_view const& t, pool_facts const& p) {
  return page_link("/workers/" + name_of(t), {{"cluster", p.cluster}});
}

// Returns the value that more than half of the tasks share, or an empty string.
template <class Of>
std::string common(std::vector<core::task_view> const& tasks, Of const& of) {
  for (auto const& candidate : tasks) {
    auto const& text = of(candidate);
    if (text.empty()) continue;
    std::size_t same = 0;
    for (auto const& t : tasks) same += of(t) == text;
    if (same * 2 > tasks.size()) return text;
  }
  return {};
}

void about_tasks(alert item, std::vector<core::task_view> const& tasks, std::uint64_t count,
                 std::string const& is, std::string const& state, pool_facts const& p,
                 alerts& out) {
  if (count == 0 || tasks.empty()) return;
  std::vector<std::string> names;
  item.since = tasks[0].since;
  for (auto const& t : tasks) {
    if (names.size() < 3) names.push_back(name_of(t));
    item.since = std::min(item.since, t.since);
  }
  auto const why = common(tasks, [](auto const& t) { return t.error; });
  auto const host = common(tasks, [](auto const& t) { return t.host; });
  item.subject = p.cluster;
  item.count = count;
  item.title = count == 1 ? names[0] + " is " + is : counted(count, "worker") + " are " + is;
  if (count > 1) item.detail = some_of(names, count);
  auto const add = [&item](std::string const& text) {
    if (!text.empty()) item.detail += (item.detail.empty() ? "" : "; ") + text;
  };
  add(why);
  if (!host.empty()) add(count == 1 ? "on " + host : "most of them on " + host);
  item.link = count == 1 ? worker_page(tasks[0], p)
                         : page_link("/tasks", {{"state", state}, {"cluster", p.cluster}});
  out.push_back(std::move(item));
}

std::string label(core::job_view const& j) {
  return j.name.empty() ? core::text(j.id) : j.name;
}

// A closure whose input could not be read would fail again with the same arguments.
bool can_be_retried(core::job_view const& j) {
  return j.retryable && (!j.error || j.error->kind != core::failure_kind::input);
}

std::string cause_of(core::job_view const& j) {
  return j.error ? j.error->message : "closures failed";
}

alert about_job(core::job_view const& j, pool_facts const& p) {
  alert item{.rule = "job-failed", .subject = core::text(j.id)};
  item.title = "Job " + label(j) + " failed";
  item.detail = j.error ? j.error->message : counted(j.counts.failed, "closure") + " failed";
  item.since = j.finished;
  item.count = j.counts.failed;
  item.link =
      page_link("/jobs/" + core::text(j.id), {{"state", "ENDED_BADLY"}, {"cluster", p.cluster}});
  item.command = (can_be_retried(j) ? "muster retry " : "muster explain ") + core::text(j.id);
  return item;
}

using same_cause = std::vector<core::job_view const*>;

// Groups jobs by their first error. Groups and jobs keep their order, newest first.
std::vector<same_cause> by_cause(std::vector<core::job_view> const& jobs) {
  std::vector<same_cause> groups;
  for (auto const& j : jobs) {
    auto const same = [&](same_cause const& g) { return cause_of(*g.front()) == cause_of(j); };
    auto at = std::find_if(groups.begin(), groups.end(), same);
    if (at == groups.end()) at = groups.insert(at, same_cause());
    at->push_back(&j);
  }
  return groups;
}

alert about_jobs(same_cause const& jobs, pool_facts const& p) {
  auto const& newest = *jobs.front();
  auto const cause = cause_of(newest);
  // The subject stays the same when more jobs fail with this error.
  alert item{.rule = "jobs-failed",
             .subject = p.cluster + "/" + std::to_string(std::hash<std::string>()(cause)),
             .count = jobs.size()};
  std::vector<std::string> names;
  for (auto const* j : jobs) {
    names.push_back(label(*j));
    if (can_be_retried(*j)) item.command += " " + core::text(j->id);
  }
  item.title =
      "Job " + names.front() + " and " + std::to_string(jobs.size() - 1) + " more jobs failed";
  item.detail = cause + "; " + some_of(names, names.size());
  item.since = newest.finished;
  item.link = page_link("/jobs", {{"state", "FAILED"}, {"cluster", p.cluster}});
  if (!item.command.empty()) item.command = "muster retry" + item.command;
  return item;
}

}  // namespace

void lost_tasks(pool_facts const& p, alerts& out) {
  about_tasks({.rule = "worker-lost"}, p.lost, p.overview.tasks_error, "lost", "ERROR", p, out);
}

void late_tasks(pool_facts const& p, alert_facts const& f, alerts& out) {
  alert item{.rule = "worker-late", .severity = alert_severity::warning};
  item.detail = "no heartbeat for more than " + length_of(f.late_after);
  about_tasks(std::move(item), p.late, p.overview.tasks_late, "late", "LATE", p, out);
}

void failed_jobs(pool_facts const& p, alerts& out) {
  constexpr std::size_t singly = 3;
  if (p.failed.count <= singly) {
    for (auto const& j : p.failed.newest) out.push_back(about_job(j, p));
    return;
  }
  auto const causes = by_cause(p.failed.newest);
  std::uint64_t rest = p.failed.count;
  core::time_point since = core::never;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    since = causes[i].front()->finished;
    if (i == singly) break;
    out.push_back(causes[i].size() == 1 ? about_job(*causes[i].front(), p)
                                        : about_jobs(causes[i], p));
    rest -= causes[i].size();
  }
  if (rest == 0) return;
  alert item{.rule = "jobs-failed", .subject = p.cluster, .count = rest};
  item.title = counted(rest, "more job") + " failed within an hour";
  item.since = since;
  item.link = page_link("/jobs", {{"state", "FAILED"}, {"cluster", p.cluster}});
  out.push_back(std::move(item));
}

// Raises only a warning, and only for recent failures, because the session's program may handle the
// error.
void failed_sessions(pool_facts const& p, alerts& out) {
  for (auto const& [s, closure, at, why] : p.failed_sessions.newest) {
    auto const label = s.name.empty() ? core::text(s.id) : s.name;
    alert item{.rule = "session-failed", .subject = core::text(s.id)};
    bool const over = s.state == core::job_state::failed;
    if (!over) item.severity = alert_severity::warning;
    item.title = over ? "Session " + label + " failed"
                      : counted(s.counts.failed, "closure") + " of session " + label + " failed";
    if (!s.client.empty()) item.detail = "client: " + s.client;
    if (auto const& cause = why ? why : s.error; cause)
      item.detail += (item.detail.empty() ? "" : "; ") + cause->message;
    item.since = at;
    item.count = s.counts.failed;
    item.link =
        page_link("/jobs/" + core::text(s.id), {{"state", "ENDED_BADLY"}, {"cluster", p.cluster}});
    item.command =
        over ? "muster jobs " + core::text(s.id) : "muster explain " + core::text(closure);
    out.push_back(std::move(item));
  }
  auto const rest = p.failed_sessions.count - p.failed_sessions.newest.size();
  if (rest == 0) return;
  alert item{.rule = "sessions-failed", .subject = p.cluster, .count = rest};
  item.severity = alert_severity::warning;
  item.title = "Closures of " + counted(rest, "more session") + " failed within an hour";
  item.since = p.failed_sessions.newest.back().at;
  item.link = page_link("/sessions", {{"cluster", p.cluster}});
  out.push_back(std::move(item));
}

void without_worker(pool_facts const& p, alert_facts const& f, alerts& out) {
  auto const queued = p.overview.closures.queued;
  if (queued == 0) return;
  auto const connected = p.overview.tasks_connected + p.overview.tasks_late;
  auto const all = page_link("/jobs", {{"state", "UNFINISHED"}, {"cluster", p.cluster}});
  if (connected == 0) {
    alert item{.rule = "no-worker", .subject = p.cluster, .count = queued};
    item.title = counted(queued, "closure") + " queued, but no worker is connected";
    item.detail = p.cluster.empty() ? "They will start when a worker joins"
                                    : "They will start when a worker joins cluster " + p.cluster;
    item.since = p.waits_since;
    item.link = all;
    item.command = "muster worker --server " +
                   (f.worker_address.empty() ? "HOST:8476" : f.worker_address) +
                   cluster_flag(p.cluster);
    out.push_back(std::move(item));
    return;
  }
  for (auto const& fn : p.unserved) {
    alert item{.rule = "no-function", .subject = p.cluster + "/" + fn.name};
    item.count = fn.queued;
    item.title =
        counted(fn.queued, "closure") + " of " + fn.name + " queued, but no worker provides it";
    item.detail = fn.ever_had ? "the workers that provided it have left"
                              : core::text_of_missing_function(fn.name);
    item.since = p.waits_since;
    item.link = page_link("/jobs", {{"state", "UNFINISHED"}, {"cluster", p.cluster}});
    out.push_back(std::move(item));
  }
}

void nothing_finishes(pool_facts const& p, alerts& out) {
  auto const& o = p.overview;
  if (o.quiet_since == core::time_point{}) return;
  alert item{.rule = "nothing-finishes", .subject = p.cluster};
  item.title = "No closure has finished for a long time";
  item.count = o.closures.running;
  item.detail = counted(o.closures.running, "closure") + " running, " +
                counted(o.closures.queued, "closure") + " queued";
  item.since = o.quiet_since;
  item.link = page_link("/jobs", {{"state", "UNFINISHED"}, {"cluster", p.cluster}});
  if (!o.oldest_running.empty()) {
    auto const& oldest = o.oldest_running.front();
    item.detail += "; the oldest: " + oldest.function + " on " + oldest.worker;
    item.link = page_link("/closures/" + core::text(oldest.closure), {{"cluster", p.cluster}});
    item.command = "muster explain " + core::text(oldest.closure);
  }
  out.push_back(std::move(item));
}

void closures_exclusive(pool_facts const& p, alerts& out) {
  for (auto const& c : p.overview.exclusive) {
    alert item{.rule = "closure-alone", .subject = core::text(c.closure)};
    item.title = c.function + " has lost " + counted(c.workers_lost, "worker");
    item.detail = c.worker.empty() ? "it is waiting for a worker without other work"
                                   : "it runs alone on " + c.worker;
    item.since = c.since;
    auto const job = c.job == core::session_id{} ? std::string() : core::text(c.job);
    item.link =
        page_link("/closures/" + core::text(c.closure), {{"job", job}, {"cluster", p.cluster}});
    item.command = "muster cancel " + core::text(c.closure);
    out.push_back(std::move(item));
  }
  auto const rest = p.overview.closures_exclusive - p.overview.exclusive.size();
  if (rest == 0) return;
  alert item{.rule = "closures-alone", .subject = p.cluster, .count = rest};
  item.title = counted(rest, "more closure") + " lost several workers";
  item.since = p.overview.exclusive.back().since;
  out.push_back(std::move(item));
}

// Raises one alert for each value, however many workers fail to build it.
void failing_builds(pool_facts const& p, alerts& out) {
  for (auto it = p.failing_builds.begin(); it != p.failing_builds.end();) {
    auto const& first = *it;
    alert item{.rule = "builder-quarantined", .subject = core::text(first.id), .count = 0};
    item.since = first.since;
    for (; it != p.failing_builds.end() && it->id == first.id; ++it) {
      item.count += it->workers_lost;
      item.since = std::min(item.since, it->since);
    }
    auto const what = first.name.empty() ? core::text(first.id) : first.name;
    item.title =
        "The builder of per-worker value " + what + " has lost " + counted(item.count, "worker");
    item.detail =
        first.task + ": " + first.error + "; the worker will build the value again after a pause";
    item.link = page_link("/per-worker", {{"cluster", p.cluster}});
    item.command = "muster per-worker" + cluster_flag(p.cluster);
    out.push_back(std::move(item));
  }
}

void nearly_full(pool_facts const& p, alerts& out) {
  auto const kept = p.closures;
  if (p.closures_max == 0 || kept * 10 < p.closures_max * 9) return;
  auto const& n = p.overview.closures;
  auto const unfinished = std::min(kept, n.blocked + n.queued + n.running);
  alert item{.rule = "closures-full", .subject = p.cluster};
  item.severity = alert_severity::warning;
  item.title = counted(kept, "closure") + " stored; the limit is " + std::to_string(p.closures_max);
  item.detail = std::to_string(kept - unfinished) +
                " are finished and kept; at the limit, submissions are refused: delete finished "
                "jobs, release values, or raise --closures-max";
  item.since = core::never;
  item.count = kept;
  item.link = page_link("/jobs", {{"cluster", p.cluster}});
  out.push_back(std::move(item));
}

void disk_fails(pool_facts const& p, alerts& out) {
  if (p.disk_fails_since == core::never) return;
  alert item{.rule = "disk-fails", .subject = p.cluster};
  item.title = "Values cannot be written to --spill-dir";
  item.detail =
      "values stay in memory, and the oldest values are dropped when memory is full; see the "
      "events for the cause";
  item.since = p.disk_fails_since;
  item.link = page_link("/events", {{"q", "spill"}});
  out.push_back(std::move(item));
}

void journal_fails(journal_stats const& j, alerts& out) {
  if (j.failed_since == core::never) return;
  alert item{.rule = "journal-fails", .subject = {}};
  item.title = "Nothing can be written to --data-dir";
  item.detail = j.failure;
  item.since = j.failed_since;
  item.link = page_link("/events", {{"q", "journal"}});
  out.push_back(std::move(item));
}

// Freeing disk space does not help after a failed write: the server must be restarted.
void disk_full(journal_stats const& j, alerts& out) {
  if (j.full_since == core::never || j.failed_since != core::never) return;
  alert item{.rule = "disk-full", .subject = {}};
  item.title = "The disk is full: new durable work is refused";
  item.detail = j.full;
  item.since = j.full_since;
  item.link = page_link("/events", {{"q", "journal_disk"}});
  item.command = "muster doctor";
  out.push_back(std::move(item));
}

void tokens_ignored(alert_facts const& f, alerts& out) {
  if (!f.tokens_ignored) return;
  alert item{.rule = "tokens-ignored", .subject = {}};
  item.severity = alert_severity::warning;
  item.title = "Requests without a token are accepted until the server restarts";
  item.detail =
      "tokens exist, but the server was started without any; restart it so that tokens are "
      "required";
  item.since = core::never;
  item.link = "/";
  item.command = "muster token list";
  out.push_back(std::move(item));
}

}  // namespace muster::web
