#include "web/live/programs_topics.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "server/core/programs/controller.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/json/program_json.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {

namespace {

constexpr std::string_view program_prefix = "program:";

struct program_copy {
  core::program_view program;
  std::vector<core::rank_view> ranks;
  std::vector<core::program_attempt_view> attempts;
  std::vector<coordination::agent_view> agents;
  std::vector<coordination::barrier_view> barriers;
};

struct programs_copy {
  struct shown {
    std::string cluster;
    core::program_row row;
  };
  std::vector<shown> list;
  std::size_t more = 0;
  std::map<std::string, program_copy> each;
  core::time_point now{};
};

void copy_list(server::hub& h, programs_copy& into) {
  auto const& programs = h.state().programs();
  auto const some = programs.rows(programs_shown);
  auto const counts = programs.counts();
  into.more +=
      std::accumulate(std::begin(counts.by_state), std::end(counts.by_state), std::size_t{0}) -
      some.size();
  // The main cluster has an empty name, as in other topics.
  for (auto const& p : some) into.list.push_back({h.cluster(), p});
}

void copy_cluster(engine_services& services, program_copy& p) {
  auto const& all = services.coordination.state();
  auto const id = all.find(p.program.coordination_cluster);
  if (p.program.coordination_cluster.empty() || !id) return;
  auto const views = all.current(*id).views();
  auto const now = services.coordination.now();
  // Viewers must see immediately for which agents the other agents are waiting.
  p.agents = views.tasks(now, 0, p.ranks.size(), shortest_shown_wait);
  p.barriers = views.barriers_from(0, barriers_shown);
  std::erase_if(p.barriers, [now](auto const& b) {
    return b.state != coordination::barrier_state::running || b.started + shortest_shown_wait > now;
  });
}

std::optional<program_copy> copy_one(engine_services& services, core::program_id id,
                                     server::cluster_scope const& scope) {
  auto& h = services.pools.of(id);
  auto const& programs = h.state().programs();
  auto p = programs.find(id);
  if (!p || !scope.sees(h.cluster())) return {};
  program_copy c{std::move(*p), *programs.ranks(id), *programs.attempts_of(id), {}, {}};
  c.program.cluster = h.state().configuration().cluster;
  c.program.coordination_cluster = h.programs().cluster_of(id);
  h.programs().steps().fill(c.program, true);
  h.programs().steps().fill(id, c.program.attempt, c.ranks);
  c.program.hang = h.programs().doctor().hang_of(id);
  core::describe_losses(c.program, h.now());
  h.workers().refresh_lines(h.now(), {id, c.program.attempt, c.program.ranks});
  h.workers().lines().fill(id, c.program.attempt, c.ranks);
  copy_cluster(services, c);
  return c;
}

programs_copy copy_programs(engine_services& services, programs_asked const& asked,
                            server::cluster_scope const& scope) {
  programs_copy c;
  c.now = services.coordination.now();
  if (asked.list)
    services.pools.for_each([&](server::hub& h) {
      if (scope.sees(h.cluster())) copy_list(h, c);
    });
  for (auto const& name : asked.each)
    if (auto p = copy_one(services, *program_named(name), scope))
      c.each.emplace(name, std::move(*p));
  return c;
}

std::string list_row(programs_copy::shown const& shown) {
  auto const& p = shown.row;
  return object_text([&](member_list const& m) {
    m("id", p.id);
    m("cluster", shown.cluster);
    m("name", p.name);
    m("state", p.state);
    m("attempt", p.attempt);
    m("restarts", p.restarts);
    m("max_restarts", p.max_restarts);
    m("ranks", p.ranks);
    m("started", p.started);
    m("alive", p.alive);
    m("created_ms", p.created);
    m.when(p.finished != core::never)("finished_ms", p.finished);
    m.some("waits_for", p.waits_for);
    if (!p.cause.empty()) m.object("cause", [&p](member_list const& of) { of("text", p.cause); });
    m.object("tasks", [&p](member_list const& of) {
      for (auto const& t : p.tasks)
        of.object(t.type, [&t](member_list const& each) {
          each("min", t.min);
          each("max", t.max);
        });
    });
  });
}

void write_agent(member_list const& m, coordination::agent_view const& a) {
  m("state", a.health);
  if (a.error) m("error", a.error->message);
  m.some("late_for", a.late_for);
  m.when(!a.late_for.empty())("late_since", a.late_since);
}

std::string rank_row(core::rank_view const& r, coordination::agent_view const* agent) {
  return object_text([&](member_list const& m) {
    members(m, r);
    if (agent) m.object("agent", [agent](member_list const& of) { write_agent(of, *agent); });
  });
}

std::string barriers_row(std::vector<coordination::barrier_view> const& barriers) {
  return object_text([&](member_list const& m) {
    m.list("barriers", barriers, [](member_list const& of, coordination::barrier_view const& b) {
      of("id", b.id);
      of("arrived", b.arrived_count);
      of("of", b.participants);
      of("started", b.started);
    });
  });
}

named_rows rows_of(program_copy const& c) {
  std::map<std::string, coordination::agent_view const*> agents;
  for (auto const& a : c.agents)
    if (a.registered_at != core::time_point{})
      agents.emplace(a.job + ":" + std::to_string(a.index), &a);
  named_rows rows;
  rows.emplace_back("program", to_text(c.program));
  rows.emplace_back("attempts",
                    object_text([&](member_list const& m) { m("attempts", c.attempts); }));
  rows.emplace_back("barriers", barriers_row(c.barriers));
  for (auto const& r : c.ranks) {
    auto const agent = agents.find(r.task);
    rows.emplace_back(std::to_string(r.rank),
                      rank_row(r, agent == agents.end() ? nullptr : agent->second));
  }
  return rows;
}

}  // namespace

std::optional<core::program_id> program_named(std::string_view topic) {
  if (!topic.starts_with(program_prefix)) return {};
  return server::parse_program(topic.substr(program_prefix.size()));
}

coro::task<muster::result<program_rows>> collect_programs(engine_link& engine, programs_asked asked,
                                                          server::shared_scope scope) {
  auto work = [asked, scope](engine_services& services) {
    return copy_programs(services, asked, *scope);
  };
  auto const c = co_await engine.on_engine(std::move(work));
  if (!c) co_return c.error();
  program_rows rows;
  rows.now = c->now;
  if (asked.list) {
    rows.list.emplace();
    rows.list->more = c->more;
    for (auto const& p : c->list) rows.list->rows.emplace_back(core::text(p.row.id), list_row(p));
  }
  // A program has no rows if it does not exist or is not visible to the client.
  for (auto const& name : asked.each) {
    auto const at = c->each.find(name);
    rows.each.emplace(name, at == c->each.end() ? named_rows() : rows_of(at->second));
  }
  co_return rows;
}

}  // namespace muster::web
