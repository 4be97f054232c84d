#include "web/live/cluster_topics.hpp"

#include <span>

#include "server/core/programs/controller.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "server/hub/access/program_scope.hpp"
#include "server/hub/cluster_endpoints.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/hub/event_log.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/json/cluster_json.hpp"
#include "web/live/heartbeat_ages.hpp"

namespace muster::web {

namespace {

using coordination::cluster_id;

// Agents that one step copies, so that the engine is not blocked for long.
constexpr std::size_t agents_a_step = 1000;

struct named_agent {
  std::string cluster;
  coordination::agent_view view;
  core::duration heartbeat_timeout{};
};

struct named_barrier {
  std::string cluster;
  coordination::barrier_view view;
};

struct copied {
  std::vector<coordination::cluster_view> clusters;
  // The following lists are parallel to `clusters`.
  std::vector<bool> worked;
  std::vector<bool> ends;
  std::vector<std::uint64_t> failed_jobs;
  std::size_t more_clusters = 0;
  std::vector<named_barrier> barriers;
  std::size_t more_barriers = 0;
  std::vector<server::event> events;
  std::vector<cluster_id> ids;
  cluster_id main{};
  core::time_point now{};
};

bool has_workers(engine_services& services, cluster_id c) {
  auto* const pool = services.pools.existing(c);
  return pool && !pool->state().workers().list(0, 1, {}).items.empty();
}

std::uint64_t failed_jobs(engine_services& services, cluster_id c) {
  auto* const pool = services.pools.existing(c);
  if (!pool) return 0;
  constexpr auto failed = static_cast<std::size_t>(core::job_state::failed);
  auto const& lists = pool->past().jobs();
  return lists.counts(false)[failed] + lists.counts(true)[failed];
}

void copy_barriers(engine_services& services, cluster_id c, copied& into) {
  auto const& all = services.coordination.state();
  auto rows = all.current(c).views().barriers_from(0, barriers_shown + 1);
  if (rows.size() > barriers_shown) {
    rows.pop_back();
    ++into.more_barriers;
  }
  std::size_t in_full = 0;
  for (auto& b : rows) {
    if (b.state == coordination::barrier_state::running && in_full++ < barriers_shown_in_full)
      if (auto whole = all.current(c).views().barrier(b.id)) b = std::move(*whole);
    into.barriers.push_back({all.spec(c).name, std::move(b)});
  }
}

copied copy(engine_services& services, topics_asked asked, server::cluster_scope const& scope) {
  auto const& all = services.coordination.state();
  copied c;
  c.now = services.coordination.now();
  c.ids = all.ids();
  std::erase_if(c.ids,
                [&](cluster_id id) { return !sees(scope, services.pools, all.spec(id).name); });
  c.main = services.endpoints.main();
  if (c.ids.size() > clusters_shown) {
    c.more_clusters = c.ids.size() - clusters_shown;
    c.ids.resize(clusters_shown);
  }
  for (auto const id : c.ids) {
    if (asked.clusters) {
      c.clusters.push_back(all.view(id, c.now));
      c.clusters.back().address = services.endpoints.address(id);
      c.worked.push_back(has_workers(services, id));
      c.ends.push_back(ends(services.pools, c.clusters.back()));
      c.failed_jobs.push_back(failed_jobs(services, id));
    }
    if (asked.barriers) copy_barriers(services, id, c);
  }
  if (asked.events)
    c.events = services.events.newest(0, events_shown, [&](server::event const& e) {
      return sees(scope, services.pools, e.what);
    });
  return c;
}

struct agent_cursor {
  std::size_t cluster = 0, task = 0;
};

std::vector<named_agent> copy_agents(engine_services& services, std::vector<cluster_id> const& ids,
                                     agent_cursor& at) {
  auto const& all = services.coordination.state();
  std::vector<named_agent> rows;
  while (at.cluster < ids.size() && rows.size() < agents_a_step) {
    auto const id = ids[at.cluster];
    std::vector<coordination::agent_view> some;
    if (all.exists(id))
      some = all.current(id).views().tasks(services.coordination.now(), at.task,
                                           agents_a_step - rows.size());
    if (some.empty()) {
      at = {at.cluster + 1, 0};
      continue;
    }
    at.task += some.size();
    auto const& spec = all.spec(id);
    for (auto& a : some) rows.push_back({spec.name, std::move(a), spec.heartbeat_timeout});
  }
  return rows;
}

std::string cluster_row(coordination::cluster_view const& c, bool main, bool worked, bool ends,
                        std::uint64_t failed_jobs) {
  auto const& g = c.generation;
  return object_text([&](member_list const& m) {
    m("name", c.spec.name);
    m("main", main);
    m("address", c.address);
    m("tasks", c.spec.size());
    m("has_workers", worked);
    m.some("failed_jobs", failed_jobs);
    m("state", g.state);
    m.some("ends", ends);
    m("generation", g.number);
    m("started", g.started);
    m.object("agents", [&g](member_list const& of) { agent_counts(of, g); });
    m("barriers", g.barriers_running);
    m("keys", g.keys);
    m("key_waits", g.parked_key_waits);
    if (!g.cause) return;
    m.object("cause", [&g](member_list const& of) {
      of("task", g.cause->task);
      of("message", g.cause->message);
      of("at", g.cause->at);
    });
  });
}

// If true, the row contains the time of the last heartbeat.
bool heartbeats_have_ended(coordination::agent_view const& a) {
  return a.health == coordination::agent_health::error ||
         a.health == coordination::agent_health::disconnected;
}

std::string agent_identity_json(named_agent const& n) {
  auto const& a = n.view;
  return object_text([&](member_list const& m) {
    m("cluster", n.cluster);
    m("job", a.job);
    m("index", a.index);
    m("incarnation", std::to_string(core::raw(a.incarnation)));
    m("address", a.peer);
    m("registered", a.registered_at);
    m.some("unheard", a.unheard);
    m.when(heartbeats_have_ended(a))("seen", a.last_heartbeat);
    m("devices", a.devices);
    m.some("device_names", a.device_names);
  });
}

std::string agent_status_json(coordination::agent_view const& a, core::time_point now) {
  bool const waits = a.waits_since != core::never && a.waits_since + shortest_shown_wait <= now;
  return object_text([&](member_list const& m) {
    m("state", a.health);
    if (a.error) {
      m("code", name(a.error->code));
      m("error", a.error->message);
      m("casualty", a.casualty);
    }
    m.some("late_for", a.late_for);
    m.when(!a.late_for.empty())("late_since", a.late_since);
    m("waits", waits ? a.waiting_for : std::vector<std::string>());
  });
}

std::string barrier_row(named_barrier const& n) {
  auto const& b = n.view;
  return object_text([&](member_list const& m) {
    m("cluster", n.cluster);
    m("id", b.id);
    m("counter", b.counter);
    m("state", b.state);
    m("arrived", b.arrived_count);
    m("of", b.participants);
    m("started", b.started);
    m("ended", b.ended);
    m("deadline", b.deadline == core::never ? core::time_point() : b.deadline);
    m("first", b.first);
    m("error", b.fault ? b.fault->message : std::string());
    auto const shown = std::span(b.missing).first(std::min(missing_shown, b.missing.size()));
    m.list("missing", shown, [](member_list const& of, coordination::missing_task const& t) {
      of("task", t.name);
      of("address", t.peer);
      of("seen", t.last_heartbeat);
    });
  });
}

cluster_rows to_rows(copied const& c) {
  cluster_rows r;
  r.now = c.now;
  r.clusters.more = c.more_clusters;
  r.barriers.more = c.more_barriers;
  for (std::size_t i = 0; i < c.clusters.size(); ++i)
    r.clusters.rows.emplace_back(
        c.clusters[i].spec.name,
        cluster_row(c.clusters[i], c.ids[i] == c.main, c.worked[i], c.ends[i], c.failed_jobs[i]));
  for (auto const& b : c.barriers)
    r.barriers.rows.emplace_back(b.cluster + "/" + b.view.id, barrier_row(b));
  for (auto const& e : c.events)
    r.events.rows.emplace_back(std::to_string(e.number),
                               json_text([&e](json_out& out) { write(out, e); }));
  return r;
}

}  // namespace

bool ends(server::pools& all, coordination::cluster_view const& c) {
  using enum coordination::generation_state;
  auto const program = server::parse_program(c.spec.name);
  return program && c.generation.state != failed && c.generation.state != finished &&
         all.of(*program).state().programs().ends(*program);
}

coro::task<muster::result<cluster_rows>> collect_clusters(engine_link& engine, topics_asked asked,
                                                          server::shared_scope scope) {
  auto first = [asked, scope](engine_services& services) { return copy(services, asked, *scope); };
  auto const c = co_await engine.on_engine(std::move(first));
  if (!c) co_return c.error();
  auto rows = to_rows(*c);
  agent_cursor at;
  heartbeat_ages ages;
  while (asked.agents && at.cluster < c->ids.size()) {
    if (rows.agents.size() >= agents_shown) {
      rows.more_agents = 1;
      break;
    }
    using step = std::pair<std::vector<named_agent>, agent_cursor>;
    auto more = [ids = c->ids, at](engine_services& services) mutable {
      auto agents = copy_agents(services, ids, at);
      return step(std::move(agents), at);
    };
    auto const page = co_await engine.on_engine(std::move(more));
    if (!page) co_return page.error();
    at = page->second;
    for (auto const& a : page->first) {
      rows.agents.push_back({a.cluster + "/" + a.view.job, a.view.index, agent_identity_json(a),
                             agent_status_json(a.view, rows.now)});
      auto const seen = heartbeats_have_ended(a.view) ? core::time_point{} : a.view.last_heartbeat;
      ages.add(a.cluster, a.view.job, seen, rows.now, a.heartbeat_timeout);
    }
  }
  rows.ages = ages.json();
  co_return rows;
}

}  // namespace muster::web
