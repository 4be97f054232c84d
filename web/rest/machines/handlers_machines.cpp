#include <map>
#include <variant>

#include "server/core/api/id_text.hpp"
#include "server/core/programs/controller.hpp"
#include "server/history/activity/activity_pages.hpp"
#include "server/hub/access/cluster_scope.hpp"
#include "web/json/machine_json.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/machines/recorded_machines.hpp"

namespace muster::web {
namespace {

constexpr std::uint64_t samples_max = history::machines::samples_max;
// Limit for pages with samples.
constexpr std::size_t charted_max = 50;
constexpr std::size_t past_samples_default = 300;

struct machine_query {
  machine_filter filter;
  std::size_t samples = 0, limit = 0;
  std::uint64_t after = 0;
};

seen_machine copy(server::hub& h, std::string const& task, history::machines::row const& row,
                  machine_query const& q) {
  seen_machine s{
      h.state().configuration().cluster, task, row.seen, row.fresh(h.now()), row.newest, {}};
  if (q.samples == 0) return s;
  s.samples = history::machines::samples(row);
  if (s.samples.size() > q.samples)
    s.samples.erase(s.samples.begin(), s.samples.end() - static_cast<std::ptrdiff_t>(q.samples));
  return s;
}

void take(server::hub& h, machine_query const& q, std::uint64_t& at, recorded_machines& to) {
  std::set<std::string> shown;
  for (auto const& [task, row] : h.machines().all()) {
    if (!q.filter.takes(task, row.newest.host)) continue;
    if (q.filter.hosts && !shown.insert(row.newest.host).second) continue;
    if (at++ < q.after) continue;
    if (to.page.items.size() == q.limit) {
      to.page.next = at - 1;
      return;
    }
    to.page.items.push_back(copy(h, task, row, q));
  }
}

using run_id = std::variant<core::program_id, core::session_id>;
using host_tasks = std::map<std::string, std::set<std::string>>;

// Includes earlier attempts, whose records contain no worker names. Adds the workers that currently
// run on these hosts.
muster::result<host_tasks> hosts_of(server::hub& h, core::program_id id) {
  auto const attempts = h.state().programs().attempts_of(id);
  auto const ranks = h.state().programs().ranks(id);
  if (!attempts || !ranks) return attempts ? ranks.error() : attempts.error();
  host_tasks found;
  for (auto const& r : *ranks)
    if (!r.worker.empty()) found[r.host].insert(r.worker);
  for (auto const& a : *attempts)
    if (auto const* const record = h.programs().records().find({id, a.attempt}))
      for (auto const& r : record->ranks) found.try_emplace(r.host);
  found.erase(std::string());
  return found;
}

// Includes workers that have left, as long as their machines are stored.
muster::result<host_tasks> hosts_of(server::hub& h, core::session_id id) {
  if (auto const job = h.state().sessions().find(id); !job) return job.error();
  host_tasks found;
  auto const add = [&](std::string const& worker) {
    if (auto const* const row = h.machines().find(worker)) found[row->newest.host].insert(worker);
  };
  if (auto const times = h.past().times().find(id, h.past().named()))
    for (auto const& row : times->workers)
      if (!row.name.empty()) add(row.name);
  core::activity_filter of_job;
  of_job.job = id;
  for (auto const& lane : history::running(h.past(), h.state(), of_job, {}).names.lanes)
    add(lane.job + ":" + std::to_string(lane.index));
  return found;
}

server::hub& hub_of(engine_services& services, run_id const& run) {
  return std::visit([&](auto id) -> server::hub& { return services.pools.of(id); }, run);
}

muster::status find_hosts(engine_services& services, server::cluster_scope const& scope,
                          run_id const& run, std::string& cluster, machine_filter& into) {
  auto& h = hub_of(services, run);
  auto found = std::visit([&](auto id) { return hosts_of(h, id); }, run);
  if (!found) return found.error();
  if (!scope.sees(h.cluster()))
    return {code::not_found,
            "there is no " + std::visit([](auto id) { return core::text(id); }, run)};
  cluster = h.cluster();
  into.hosts = std::move(*found);
  return {};
}

coro::task<response> list_past_machines(web_context& context, exchange& ex, machine_query q,
                                        history_query time, std::optional<run_id> run) {
  if (!keeps_history(context)) co_return problem_response(no_history_problem());
  time.limit = std::min(q.limit, charted_max);
  auto prepare = [q, time, run, name = std::string(ex.req.parameter("cluster")),
                  scope = scope_of(context, ex.req)](engine_services& services) {
    auto filter = q.filter;
    auto until = time;
    if (until.to == core::never) until.to = services.coordination.now();
    if (until.from == core::time_point{})
      until.from = std::max(until.from, until.to - std::chrono::hours(1));
    until.to = std::max(until.to, until.from);
    std::map<std::string, std::string> clusters;
    services.pools.for_each(
        [&](server::hub& h) { clusters.emplace(h.cluster(), h.state().configuration().cluster); });
    auto wrong = muster::status{};
    std::optional<std::string> only;
    if (auto const pool = services.pools.named(name); !name.empty()) {
      if (pool)
        only = (*pool)->cluster();
      else
        wrong = pool.error();
    }
    if (run && wrong.ok()) wrong = find_hosts(services, *scope, *run, only.emplace(), filter);
    auto const samples = q.samples > 0 ? q.samples : past_samples_default;
    return [filter, until, clusters, wrong, only, samples, after = q.after,
            may = visible_clusters(services, scope)](
               server::history_store const& store) -> muster::result<recorded_machines> {
      if (!wrong.ok()) return wrong;
      return read_machines(store, until, filter, samples, after,
                           [&](std::string const& cluster) -> std::optional<std::string> {
                             if ((only && *only != cluster) || !may(cluster)) return {};
                             auto const known = clusters.find(cluster);
                             return known == clusters.end() ? cluster : known->second;
                           });
    };
  };
  co_return co_await answer_from_history<recorded_machines>(context, ex, std::move(prepare),
                                                            as_json());
}

coro::task<response> list_machines(web_context& context, exchange& ex) {
  query_check query(ex.req);
  machine_query q;
  q.filter.task = query.text("task");
  q.filter.host = query.text("host");
  q.samples = static_cast<std::size_t>(query.number("samples", 0));
  q.limit = query.limit();
  if (q.samples > 0) q.limit = std::min(q.limit, charted_max);
  q.after = query.page_token('m');
  std::optional<run_id> run;
  if (auto const text = query.text("program"); !text.empty()) {
    run = server::parse_program(text);
    if (!run) return refused(unknown_id("program", text));
  } else if (auto const job = query.text("job"); !job.empty()) {
    run = server::parse_job(job);
    if (!run) return refused(unknown_id("job", job));
  }
  if (has_time_range(query)) {
    history_query time;
    if (auto const wrong = read_time_range(query, time)) return refused(*wrong);
    return list_past_machines(context, ex, std::move(q), time, run);
  }
  auto work = [q, run, name = std::string(query.text("cluster")),
               scope = scope_of(context, ex.req)](
                  engine_services& services) mutable -> muster::result<recorded_machines> {
    recorded_machines page;
    std::uint64_t at = 0;
    if (run) {
      std::string of_it;
      auto const found = find_hosts(services, *scope, *run, of_it, q.filter);
      if (!found.ok()) return found;
      take(hub_of(services, *run), q, at, page);
      return page;
    }
    if (!name.empty()) {
      auto const pool = services.pools.named(name);
      if (!pool) return pool.error();
      take(**pool, q, at, page);
      return page;
    }
    services.pools.for_each([&](server::hub& h) {
      if (!page.page.next && scope->sees(h.cluster())) take(h, q, at, page);
    });
    return page;
  };
  return respond_with(context, std::move(work));
}

}  // namespace

void add_machine_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/machines", list_machines, "listMachines",
          "Get CPU, memory, GPUs, network and disks of the server and of workers")
          .with(
              {{"cluster", query_kind::text, "only machines of this cluster"},
               {"task", query_kind::text, "only the machine of this worker, such as worker:3"},
               {"host", query_kind::text, "only the machine with this host name"},
               {"samples", query_kind::number,
                "number of samples from the last hour to include for each machine, one per 5 s; "
                "limits a page to 50 machines",
                0, samples_max},
               {"program", query_kind::text,
                "only one machine per host that is running or ran ranks of this program (prog_…)"},
               {"job", query_kind::text,
                "only one machine per host that is running or ran closures of this job or session "
                "(job_…); ignored if program is given"},
               from_parameter,
               to_parameter,
               limit_parameter,
               page_token_parameter("m")})
          .responds_with("MachinePage", schema_of<recorded_machines>)
          .also(404, "No such cluster, program or job")
          .also(409, "With a time: the server does not store history")
          .also(422, "to_ms is before from_ms")
          .also(429, "Too many history requests are waiting"));
}

}  // namespace muster::web
