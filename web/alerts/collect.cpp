#include "web/alerts/collect.hpp"

#include <algorithm>

#include "server/core/programs/controller.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/function_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "server/history/jobs/job_pages.hpp"
#include "server/hub/access/program_scope.hpp"
#include "server/hub/access/token_keeper.hpp"
#include "server/hub/cluster_endpoints.hpp"
#include "server/hub/coordination_hub.hpp"

namespace muster::web {
namespace {

using coordination::cluster_id;

constexpr std::size_t clusters_max = 100;
constexpr core::duration recent_failure_period = std::chrono::hours(1);

// Returns "HOST:PORT", or an empty string. Users must replace HOST, because the server does not
// know its own host name.
std::string worker_address(engine_services& services) {
  auto const address = services.endpoints.address(services.endpoints.main());
  auto const port = address.rfind(':');
  return port == std::string::npos ? std::string() : "HOST" + address.substr(port);
}

// Each of these functions can read thousands of rows and therefore runs as a separate engine step.
void copy_tasks(server::hub& h, pool_facts& p) {
  auto const& core = h.state();
  p.overview = core.overview(h.now());
  for (auto& f : core.functions().all())
    if (f.queued > 0 && f.workers == 0 && p.unserved.size() < pool_facts::functions_max)
      p.unserved.push_back(std::move(f));
  auto const in_state = [&](core::task_state s, std::uint32_t count) {
    std::vector<core::task_view> rows;
    if (count > 0) rows = core.workers().list(0, pool_facts::tasks_max, {s, {}}).items;
    return rows;
  };
  p.lost = in_state(core::task_state::error, p.overview.tasks_error);
  p.late = in_state(core::task_state::late, p.overview.tasks_late);
  p.closures = core.closures().size();
  p.closures_max = core.configuration().closures_max;
  p.disk_fails_since = core.values().disk_fails_since();
  p.failing_builds = core.per_worker().failing(pool_facts::failing_builds_max);
}

void copy_jobs(server::hub& h, pool_facts& p) {
  p.failed = history::jobs_failed_since(h.past(), h.state(), h.now() - recent_failure_period,
                                        pool_facts::failed_jobs_max);
  p.failed_sessions = history::sessions_failed_since(
      h.past(), h.state(), h.now() - recent_failure_period, pool_facts::failed_sessions_max);
  p.waits_since = h.state().sessions().waits_since();
}

void copy_waiting(server::hub& h, pool_facts& p) {
  if (p.overview.closures.queued == 0) return;
  p.unmet_demand = h.state().closures().unmet_demand();
  p.gangs = h.state().closures().gangs();
}

void copy_programs(server::hub& h, pool_facts& p) {
  auto const& all = h.state().programs();
  for (auto const& one :
       all.failed_since(h.now() - recent_failure_period, pool_facts::programs_max))
    p.failed_programs.push_back(
        {one.id, one.spec.name, one.cause ? one.cause->text : std::string(), one.finished});
  for (auto const& one : all.list({}, pool_facts::programs_max, core::program_state::pending))
    p.waiting_programs.push_back(
        {one.id, one.spec.name, one.waits_for, one.created, one.cannot_start});
  for (auto const id : h.programs().doctor().hanging(pool_facts::programs_max))
    if (auto const one = all.find(id)) {
      auto const what = *h.programs().doctor().hang_of(id);
      p.hung_programs.push_back({id, one->spec.name, core::text(what), what.since, what.rank >= 0});
    }
}

void copy_machines(server::hub& h, pool_facts& p) {
  for (auto const& [task, row] : h.machines().all())
    if (row.is_near_limit(h.now()) && p.short_of_memory.size() < pool_facts::tasks_max)
      p.short_of_memory.push_back({task, row.near_since, row.newest});
}

coro::task<muster::result<pool_facts>> collect_pool(engine_link& engine, std::string cluster) {
  pool_facts p;
  p.cluster = cluster;
  for (auto* const copy : {copy_tasks, copy_jobs, copy_waiting, copy_programs, copy_machines}) {
    auto visit = [cluster, copy, so_far = std::move(p)](
                     engine_services& services) mutable -> muster::result<pool_facts> {
      auto const pool = services.pools.named(cluster);
      if (!pool) return pool.error();
      copy(**pool, so_far);
      return std::move(so_far);
    };
    auto found = co_await engine.on_engine(std::move(visit));
    if (!found) co_return found.error();
    p = std::move(*found);
  }
  co_return p;
}

struct first_look {
  alert_facts facts;
  std::vector<std::string> pools;
  std::vector<cluster_id> clusters;
};

first_look begin_look(engine_services& services) {
  first_look l;
  l.facts.now = services.pools.main().now();
  l.facts.late_after = services.pools.main().state().configuration().late_after();
  l.facts.worker_address = worker_address(services);
  l.facts.tokens_ignored = services.tokens && services.tokens->required_after_restart();
  if (auto const durable = services.coordination.durable())
    l.facts.journal = {durable->failed_since, durable->failure, durable->store.full_since,
                       durable->store.full};
  return l;
}

first_look check_surroundings(engine_services& services, server::cluster_scope const& scope) {
  auto l = begin_look(services);
  services.pools.for_each([&](server::hub& h) {
    if (scope.sees(h.cluster())) l.pools.push_back(h.cluster());
  });
  auto const& all = services.coordination.state();
  for (auto const id : all.ids())
    if (l.clusters.size() < clusters_max && sees(scope, services.pools, all.spec(id).name))
      l.clusters.push_back(id);
  return l;
}

muster::result<first_look> check_one(engine_services& services, std::string const& cluster) {
  auto const pool = services.pools.named(cluster);
  if (!pool) return pool.error();
  auto l = begin_look(services);
  l.pools = {(*pool)->cluster()};
  auto const id = services.coordination.state().find(cluster);
  l.clusters = {id ? *id : services.endpoints.main()};
  return l;
}

bool is_trouble(coordination::agent_health h) {
  using enum coordination::agent_health;
  return h == missing || h == late || h == error;
}

constexpr std::size_t agents_a_step = 1'000;

struct troubled_page {
  std::vector<coordination::agent_view> found;
  bool more = false;
};

troubled_page troubled_from(engine_services& services, cluster_id c, std::size_t from) {
  auto const& all = services.coordination.state();
  if (!all.exists(c)) return {};
  auto rows = all.current(c).views().tasks(services.coordination.now(), from, agents_a_step);
  troubled_page page;
  page.more = rows.size() == agents_a_step;
  for (auto& t : rows)
    if (is_trouble(t.health)) page.found.push_back(std::move(t));
  return page;
}

void copy_stuck(coordination::service const& s, core::time_point now, agents_facts& into) {
  for (auto const& b : s.views().barriers_from(0, agents_facts::barriers_max)) {
    if (b.state != coordination::barrier_state::running) break;
    if (b.arrived_count == 0 || b.started + into.view.spec.stuck_after > now) continue;
    if (auto whole = s.views().barrier(b.id))
      into.stuck.push_back({into.view.spec.name, std::move(*whole)});
  }
}

std::optional<agents_facts> look_at(engine_services& services, cluster_id c) {
  auto const& all = services.coordination.state();
  if (!all.exists(c)) return {};
  auto const now = services.coordination.now();
  agents_facts a;
  a.view = all.view(c, now);
  copy_stuck(all.current(c), now, a);
  a.unheard = all.current(c).unreachable_by_notices();
  return a;
}

// Searches for agents only if the counts show that some are missing, late or in error.
coro::task<muster::status> add_troubled(engine_link& engine, cluster_id c, agents_facts& into) {
  std::size_t troubled = 0;
  for (auto const h : {coordination::agent_health::missing, coordination::agent_health::late,
                       coordination::agent_health::error})
    troubled += into.view.generation.by_health[static_cast<std::size_t>(h)];
  if (into.view.generation.state == coordination::generation_state::waiting) troubled = 0;
  bool more = troubled > 0;
  for (std::size_t from = 0; more; from += agents_a_step) {
    auto next = [c, from](engine_services& services) { return troubled_from(services, c, from); };
    auto page = co_await engine.on_engine(std::move(next));
    if (!page) co_return page.error();
    for (auto& t : page->found)
      if (into.troubled.size() < agents_facts::agents_max) into.troubled.push_back(std::move(t));
    more = page->more && into.troubled.size() < agents_facts::agents_max;
  }
  co_return muster::status{};
}

coro::task<muster::result<alert_facts>> check_details(engine_link& engine, first_look known) {
  auto facts = std::move(known.facts);
  for (auto const& name : known.pools) {
    auto pool = co_await collect_pool(engine, name);
    if (pool) facts.pools.push_back(std::move(*pool));
    // The call fails if the cluster was deleted; otherwise, the next engine step reports the error.
  }
  for (auto const c : known.clusters) {
    auto next = [c](engine_services& services) { return look_at(services, c); };
    auto found = co_await engine.on_engine(std::move(next));
    if (!found) co_return found.error();
    if (!*found) continue;
    auto const added = co_await add_troubled(engine, c, **found);
    if (!added.ok()) co_return added;
    facts.agents.push_back(std::move(**found));
  }
  co_return facts;
}

}  // namespace

coro::task<muster::result<alert_facts>> collect_alerts(engine_link& engine, std::string cluster) {
  auto first = [cluster](engine_services& services) { return check_one(services, cluster); };
  auto known = co_await engine.on_engine(std::move(first));
  if (!known) co_return known.error();
  co_return co_await check_details(engine, std::move(*known));
}

coro::task<muster::result<alert_facts>> collect_alerts(engine_link& engine,
                                                       server::shared_scope scope) {
  auto first = [scope](engine_services& services) { return check_surroundings(services, *scope); };
  auto known = co_await engine.on_engine(std::move(first));
  if (!known) co_return known.error();
  co_return co_await check_details(engine, std::move(*known));
}

}  // namespace muster::web
