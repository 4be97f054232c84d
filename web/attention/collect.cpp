#include "web/attention/collect.hpp"

#include <algorithm>

#include "server/hub/cluster_endpoints.hpp"
#include "server/hub/coordination_hub.hpp"

namespace muster::web {
namespace {

using coordination::cluster_id;

constexpr std::size_t clusters_max = 100;
constexpr core::duration job_is_news = std::chrono::hours(1);

pool_facts facts_of(server::hub& h) {
  auto const& core = h.state();
  auto const now = h.now();
  pool_facts p;
  p.cluster = h.cluster();
  p.overview = core.overview(now);
  for (auto& f : core.functions())
    if (f.queued > 0 && f.workers == 0 && p.unserved.size() < pool_facts::functions_max)
      p.unserved.push_back(std::move(f));
  auto const in_state = [&](core::task_state s, std::uint32_t count) {
    std::vector<core::task_view> rows;
    if (count > 0) rows = core.tasks(0, pool_facts::tasks_max, {s, {}}).items;
    return rows;
  };
  p.lost = in_state(core::task_state::error, p.overview.tasks_error);
  p.late = in_state(core::task_state::late, p.overview.tasks_late);
  p.failed = core.failed_since(now - job_is_news, pool_facts::failed_jobs_max);
  p.waits_since = core.waits_since();
  if (p.overview.closures.queued > 0) {
    p.wishes = core.wishes();
    p.gangs = core.gangs();
  }
  p.closures_max = core.configuration().closures_max;
  auto const& n = p.overview.closures;
  p.closures = n.blocked + n.queued + n.running;
  p.disk_fails_since = core.disk_fails_since();
  return p;
}

struct first_look {
  attention_facts facts;
  std::vector<cluster_id> clusters;
};

muster::result<first_look> look_at_pools(engine_services& services, std::string const& cluster) {
  first_look l;
  l.facts.now = services.pools.main().now();
  l.facts.late_after = services.pools.main().state().configuration().late_after();
  l.facts.worker_address = services.endpoints.address(services.endpoints.main());
  if (cluster.empty()) {
    services.pools.for_each([&](server::hub& h) { l.facts.pools.push_back(facts_of(h)); });
    l.clusters = services.coordination.state().ids();
    if (l.clusters.size() > clusters_max) l.clusters.resize(clusters_max);
    return l;
  }
  auto const pool = services.pools.named(cluster);
  if (!pool) return pool.error();
  l.facts.pools.push_back(facts_of(**pool));
  auto const id = services.coordination.state().find(cluster);
  l.clusters = {id ? *id : services.endpoints.main()};
  return l;
}

bool is_trouble(coordination::agent_health h) {
  using enum coordination::agent_health;
  return h == missing || h == late || h == error;
}

// A page of its agents; where the next one begins, or nothing.
std::size_t copy_troubled(coordination::service const& s, core::time_point now, std::size_t from,
                          agents_facts& into) {
  constexpr std::size_t a_step = 1'000;
  auto page = s.tasks(now, from, a_step);
  auto const full = page.size() == a_step;
  for (auto& t : page)
    if (is_trouble(t.health) && into.troubled.size() < agents_facts::agents_max)
      into.troubled.push_back(std::move(t));
  return full && into.troubled.size() < agents_facts::agents_max ? from + a_step : 0;
}

void copy_stuck(coordination::service const& s, core::time_point now, agents_facts& into) {
  for (auto const& b : s.barriers(0, agents_facts::barriers_max)) {
    if (b.state != coordination::barrier_state::running) break;
    if (b.arrived_count == 0 || b.started + into.view.spec.stuck_after > now) continue;
    if (auto whole = s.barrier(b.id))
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
  return a;
}

}  // namespace

coro::task<muster::result<attention_facts>> collect_attention(engine_link& engine,
                                                              std::string cluster) {
  auto first = [cluster](engine_services& services) { return look_at_pools(services, cluster); };
  auto asking = engine.on_engine(std::move(first));
  auto known = co_await std::move(asking);
  if (!known) co_return known.error();
  auto facts = std::move(known->facts);
  for (auto const c : known->clusters) {
    auto next = [c](engine_services& services) { return look_at(services, c); };
    auto asking_next = engine.on_engine(std::move(next));
    auto found = co_await std::move(asking_next);
    if (!found) co_return found.error();
    if (!*found) continue;
    auto a = std::move(**found);
    std::size_t troubled = 0;
    for (auto const h : {coordination::agent_health::missing, coordination::agent_health::late,
                         coordination::agent_health::error})
      troubled += a.view.generation.by_health[static_cast<std::size_t>(h)];
    bool const nobody_came = a.view.generation.state == coordination::generation_state::waiting;
    for (std::size_t from = 0; troubled > 0 && !nobody_came;) {
      auto more = [c, from, a](engine_services& services) mutable {
        auto const& all = services.coordination.state();
        auto const at =
            all.exists(c) ? copy_troubled(all.current(c), services.coordination.now(), from, a) : 0;
        return std::pair(std::move(a), at);
      };
      auto asking_more = engine.on_engine(std::move(more));
      auto page = co_await std::move(asking_more);
      if (!page) co_return page.error();
      a = std::move(page->first);
      from = page->second;
      if (from == 0) break;
    }
    facts.agents.push_back(std::move(a));
  }
  co_return facts;
}

}  // namespace muster::web
