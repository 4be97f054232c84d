// The machines of workers and of the server, and what they were like within the last hour.
#include "server/hub/access/cluster_scope.hpp"
#include "web/json/machine_json.hpp"
#include "web/rest/access.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {
namespace {

constexpr std::uint64_t samples_max = history::machines::samples_max;
// Of one page with samples.
constexpr std::size_t charted_max = 50;

struct machine_query {
  std::string task, host;  // empty: any
  std::size_t samples = 0, limit = 0;
  std::uint64_t after = 0;
};

using machine_page = core::page<seen_machine, std::uint64_t>;

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

// `at`: the position in the whole listing, counted up.
void take(server::hub& h, machine_query const& q, std::uint64_t& at, machine_page& to) {
  for (auto const& [task, row] : h.machines().all()) {
    if ((!q.task.empty() && q.task != task) || (!q.host.empty() && q.host != row.newest.host))
      continue;
    if (at++ < q.after) continue;
    if (to.items.size() == q.limit) {
      to.next = at - 1;
      return;
    }
    to.items.push_back(copy(h, task, row, q));
  }
}

coro::task<response> list_machines(web_context& context, exchange& ex) {
  query_check query(ex.req);
  machine_query q;
  q.task = query.text("task");
  q.host = query.text("host");
  q.samples = static_cast<std::size_t>(query.number("samples", 0));
  q.limit = query.limit();
  if (q.samples > 0) q.limit = std::min(q.limit, charted_max);
  q.after = query.page_token('m');
  auto work = [q, name = std::string(query.text("cluster")), scope = scope_of(context, ex.req)](
                  engine_services& services) -> muster::result<machine_page> {
    machine_page page;
    std::uint64_t at = 0;
    if (!name.empty()) {
      auto const pool = services.pools.named(name);
      if (!pool) return pool.error();
      take(**pool, q, at, page);
      return page;
    }
    services.pools.for_each([&](server::hub& h) {
      if (!page.next && scope->sees(h.cluster())) take(h, q, at, page);
    });
    return page;
  };
  return look(context, std::move(work), as_page{"machines", 'm'});
}

}  // namespace

void add_machine_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/machines", list_machines, "listMachines",
          "CPU, memory, GPUs, network and disks of the server and of workers, as these see them")
          .with({{"cluster", query_kind::text, "of this cluster alone"},
                 {"task", query_kind::text, "of this worker alone, worker:3"},
                 {"host", query_kind::text, "of this host alone"},
                 {"samples", query_kind::number,
                  "so many of the last hour with each, one in 5 s; then a page has at most 50", 0,
                  samples_max},
                 limit_parameter,
                 page_token_parameter("m")})
          .tells("MachinePage", [] { return page_schema("machines", "MachineView"); })
          .also(404, "No such cluster"));
}

}  // namespace muster::web
