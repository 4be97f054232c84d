#include "server/history/store/records.hpp"
#include "web/json/cluster_json.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/history/history_charts.hpp"
#include "web/rest/history/history_reading.hpp"

namespace muster::web {

namespace {

using generation = coordination::generation_view;

// Because runs and jobs are few, the row of each is written to disk within a second after the run
// or job has finished.
template <class Row>
auto as_past_page(std::string_view name) {
  return [name](history_page<Row> const& page) {
    return page_response(name, page.next, [&page](json_out& out) {
      for (auto const& one : page.items) write(out, one);
    });
  };
}

muster::result<history_page<generation>> runs_in_memory(engine_services& services,
                                                        std::string const& name,
                                                        history_query const& q) {
  auto const c = find_cluster(services, name);
  if (!c) return c.error();
  auto const& past = services.coordination.state().past(*c);
  history_page<generation> page;
  for (auto run = past.rbegin(); run != past.rend() && page.items.size() < q.limit; ++run)
    if (q.takes(run->ended)) page.items.push_back(*run);
  return page;
}

coro::task<response> list_runs(web_context& context, exchange& ex) {
  query_check query(ex.req);
  history_query q;
  if (auto const wrong = read_history_query(query, q)) return refused(*wrong);
  std::string name(ex.req.capture("cluster"));
  auto tell = as_past_page<generation>("runs");
  if (!keeps_history(context)) {
    auto work = [name, q](engine_services& services) { return runs_in_memory(services, name, q); };
    return respond_with(context, std::move(work), tell);
  }
  auto prepare = [name, q](engine_services& services) {
    auto const c = find_cluster(services, name);
    auto const known = c ? services.coordination.state().spec(*c).name : name;
    return [known, q](server::history_store const& store) {
      auto const takes = [&](server::recorded_run const& r) {
        return r.cluster == known && q.takes(r.run.ended);
      };
      auto const some = read_page(store, server::history_kind::runs, q, server::runs_from, takes);
      history_page<generation> page{{}, some.next};
      for (auto const& r : some.items) page.items.push_back(r.run);
      return page;
    };
  };
  return answer_from_history<history_page<generation>>(context, ex, std::move(prepare), tell);
}

coro::task<response> list_past_jobs(web_context& context, exchange& ex) {
  if (!keeps_history(context)) return refused(no_history_problem());
  query_check query(ex.req);
  history_query q;
  if (auto const wrong = read_history_query(query, q)) return refused(*wrong);
  auto prepare = [q, cluster = std::string(query.text("cluster")),
                  scope = scope_of(context, ex.req)](engine_services& services) {
    auto only = cluster;
    if (auto const pool = services.pools.named(cluster); pool && !cluster.empty())
      only = (*pool)->state().configuration().cluster;
    return [q, only, may = visible_clusters(services, scope)](server::history_store const& store) {
      return read_page(
          store, server::history_kind::jobs, q, server::jobs_from, [&](core::job_view const& j) {
            return q.takes(j.finished) && may(j.cluster) && (only.empty() || j.cluster == only);
          });
    };
  };
  return answer_from_history<history_page<core::job_view>>(context, ex, std::move(prepare),
                                                           as_past_page<core::job_view>("jobs"));
}

coro::task<response> get_past_stream(web_context& context, exchange& ex) {
  if (!keeps_history(context)) return refused(no_history_problem());
  query_check query(ex.req);
  history_query q;
  if (auto const wrong = read_history_query(query, q)) return refused(*wrong);
  auto const steps = static_cast<std::size_t>(query.number("steps", steps_default));
  std::string const cluster(query.text("cluster"));
  bool const since = !query.text("from_ms").empty();
  auto prepare = [q, cluster, steps, since](engine_services& services) {
    auto const pool = services.pools.named(cluster);
    // The name in spans, and the displayed name.
    using names = std::pair<std::string, std::string>;
    auto const name = pool ? muster::result<names>(names{(*pool)->cluster(),
                                                         (*pool)->state().configuration().cluster})
                           : pool.error();
    auto until = q;
    if (until.to == core::never) until.to = services.coordination.now();
    if (!since) until.from = std::max(core::time_point{}, until.to - std::chrono::hours(1));
    until.to = std::max(until.to, until.from);
    return
        [until, name, steps](server::history_store const& store) -> muster::result<history_stream> {
          if (!name) return name.error();
          auto all = read_stream(store, name->first, until, steps);
          all.cluster = name->second;
          return all;
        };
  };
  return answer_from_history<history_stream>(context, ex, std::move(prepare), as_json());
}

}  // namespace

void add_past_routes(std::vector<route>& to) {
  constexpr std::string_view none = "The server does not store history";
  constexpr std::string_view backwards = "to_ms is before from_ms";
  constexpr std::string_view busy = "Too many history requests are waiting";
  to.push_back(get("/api/v1/clusters/{cluster}/runs", list_runs, "listRuns",
                   "List the ended runs of a cluster of agents, sorted by end time, oldest first")
                   .with({from_parameter, to_parameter, limit_parameter, history_token_parameter})
                   .responds_with("RunPage", [] { return page_schema("runs", "Generation"); })
                   .also(422, backwards)
                   .also(429, busy));
  to.push_back(get("/api/v1/history/jobs", list_past_jobs, "listPastJobs",
                   "List ended jobs and sessions, including removed ones, oldest first")
                   .with({from_parameter,
                          to_parameter,
                          {"cluster", query_kind::text, "only jobs of this cluster"},
                          limit_parameter,
                          history_token_parameter})
                   .responds_with("PastJobPage", [] { return page_schema("jobs", "JobView"); })
                   .also(409, none)
                   .also(422, backwards)
                   .also(429, busy));
  to.push_back(
      get("/api/v1/history/stream", get_past_stream, "getPastStream",
          "Get the past work of workers from disk, in time steps; the default period is one hour")
          .with(
              {from_parameter,
               to_parameter,
               {"steps", query_kind::number, "maximum number of steps; default 300", 1, steps_max},
               cluster_parameter})
          .responds_with("PastStream", schema_of<history_stream>)
          .also(404, "No such cluster")
          .also(409, none)
          .also(422, backwards)
          .also(429, busy));
}

}  // namespace muster::web
