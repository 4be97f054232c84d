#include "base/text.hpp"
#include "web/alerts/alerts.hpp"
#include "web/alerts/words.hpp"

namespace muster::web {
namespace {

using coordination::agent_health;

std::string name_of(coordination::agent_view const& a) {
  return a.job + ":" + std::to_string(a.index);
}

struct named {
  std::vector<std::string> names;
  core::time_point since = core::never;
  coordination::agent_view const* first = nullptr;
  std::size_t count = 0;
};

template <class Is>
named those(agents_facts const& a, Is const& is) {
  named n;
  for (auto const& t : a.troubled) {
    if (!is(t)) continue;
    if (n.count++ == 0) n.first = &t;
    if (n.names.size() < 3) n.names.push_back(name_of(t));
    if (t.last_heartbeat != core::time_point{}) n.since = std::min(n.since, t.last_heartbeat);
  }
  return n;
}

std::size_t count_of(agents_facts const& a, agent_health h) {
  return a.view.generation.by_health[static_cast<std::size_t>(h)];
}

std::string tasks_page(agents_facts const& a, char const* state) {
  return page_link("/tasks", {{"state", state}, {"cluster", a.view.spec.name}});
}

}  // namespace

void failed_run(agents_facts const& a, alerts& out) {
  auto const& g = a.view.generation;
  if (g.state != coordination::generation_state::failed) return;
  alert item{.rule = "run-failed", .subject = a.view.spec.name};
  item.title = "Run " + std::to_string(g.number) + " of cluster " + a.view.spec.name + " failed";
  item.since = g.ended;
  if (g.cause) {
    item.since = g.cause->at;
    item.detail = g.cause->task.empty()
                      ? g.cause->message
                      : "first failure: " + g.cause->task + ": " + g.cause->message;
  }
  item.link = tasks_page(a, "ERROR");
  item.command = "muster clusters show " + a.view.spec.name;
  out.push_back(std::move(item));
}

// Raises an alert while registered tasks wait for missing tasks for longer than the time limit of a
// barrier.
void missing_agents(agents_facts const& a, alert_facts const& f, alerts& out) {
  auto const& g = a.view.generation;
  auto const missing = count_of(a, agent_health::missing);
  if (g.state != coordination::generation_state::registering || missing == 0 ||
      g.started + a.view.spec.stuck_after > f.now)
    return;
  auto const who = those(a, [](auto const& t) { return t.health == agent_health::missing; });
  alert item{.rule = "agents-missing", .subject = a.view.spec.name, .count = missing};
  item.title = counted(missing, "task") + " of cluster " + a.view.spec.name + " not yet registered";
  item.detail = some_of(who.names, missing) + "; the first of " +
                std::to_string(a.view.spec.size()) + " tasks has registered and is waiting";
  item.since = g.started;
  item.link = tasks_page(a, "MISSING");
  out.push_back(std::move(item));
}

void agents_in_error(agents_facts const& a, alerts& out) {
  auto const& g = a.view.generation;
  auto const count = count_of(a, agent_health::error);
  // The alert about the failed run already contains the cause.
  if (count == 0 || g.state == coordination::generation_state::failed) return;
  auto const who = those(a, [](auto const& t) { return t.health == agent_health::error; });
  alert item{.rule = "agents-in-error", .subject = a.view.spec.name, .count = count};
  item.title = count == 1 && who.first
                   ? name_of(*who.first) + " of cluster " + a.view.spec.name + " is in error"
                   : counted(count, "task") + " of cluster " + a.view.spec.name + " in error";
  if (count > 1) item.detail = some_of(who.names, count);
  if (who.first && who.first->error)
    item.detail += (item.detail.empty() ? "" : "; ") + who.first->error->message;
  item.since = who.since == core::never ? g.started : who.since;
  item.link = tasks_page(a, "ERROR");
  out.push_back(std::move(item));
}

// Excludes agents that delay a barrier, because the barrier's alert lists them.
void late_agents(agents_facts const& a, alert_facts const& f, alerts& out) {
  auto const [names, since, first, count] =
      those(a, [](auto const& t) { return t.health == agent_health::late && t.late_for.empty(); });
  if (count == 0) return;
  alert item{.rule = "agents-late", .subject = a.view.spec.name, .count = count};
  item.severity = alert_severity::warning;
  item.title = count == 1 ? names[0] + " of cluster " + a.view.spec.name + " is late"
                          : counted(count, "task") + " of cluster " + a.view.spec.name + " late";
  item.detail = (count > 1 ? some_of(names, count) + "; " : "") +
                "no heartbeat since then; a task counts as lost after " +
                length_of(a.view.spec.heartbeat_timeout);
  item.since = since == core::never ? f.now : since;
  item.link = tasks_page(a, "LATE");
  out.push_back(std::move(item));
}

void unheard_notices(agents_facts const& a, alerts& out) {
  auto const& u = a.unheard;
  if (u.count == 0) return;
  auto const& cluster = a.view.spec.name;
  alert item{.rule = "notice-unheard", .subject = cluster, .count = u.count};
  if (!u.notice_is_set) item.severity = alert_severity::warning;
  item.title =
      (u.count == 1 ? u.first[0] + " of cluster " + cluster +
                          (u.notice_is_set ? " does" : " no longer receives")
                    : counted(u.count, "task") + " of cluster " + cluster +
                          (u.notice_is_set ? " do" : " no longer receive")) +
      (u.notice_is_set ? " not receive the pending preemption notice" : " preemption notices");
  item.detail =
      (u.count > 1 ? some_of(u.first, u.count) + "; " : "") +
      "the connection or the server on which JAX was waiting for notices is gone, and JAX does not "
      "start a new wait; call muster.jax.renew_preemption_sync() in these tasks";
  item.since = u.since;
  item.link = page_link("/tasks", {{"cluster", cluster}});
  out.push_back(std::move(item));
}

void stuck_barriers(agents_facts const& a, alerts& out) {
  for (auto const& [cluster, b] : a.stuck) {
    alert item{.rule = "barrier-stuck", .subject = cluster + "/" + b.id};
    auto const missing = b.participants - b.arrived_count;
    std::vector<std::string> names;
    for (auto const& m : b.missing) {
      if (names.size() == 3) break;
      names.push_back(m.name + (m.peer.empty() ? " (never connected)" : ""));
    }
    item.title = counted(missing, "task") + " missing at barrier " + b.id;
    item.detail = some_of(names, missing) + "; " + std::to_string(b.arrived_count) + " of " +
                  std::to_string(b.participants) + " tasks are waiting in cluster " + cluster;
    item.since = b.started;
    item.count = missing;
    item.link = page_link("/barriers", {{"id", b.id}, {"cluster", cluster}});
    if (auto const id = shell_word(b.id))
      item.command = "muster barriers show " + *id + " --cluster " + cluster;
    out.push_back(std::move(item));
  }
}

}  // namespace muster::web
