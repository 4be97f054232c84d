#include <numeric>

#include "base/text.hpp"
#include "server/hub/access/program_scope.hpp"
#include "server/torch/declared.hpp"
#include "web/json/cluster_json.hpp"
#include "web/live/cluster_topics.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

struct cluster_facts {
  coordination::cluster_view view;
  std::string torch_address;  // TCPStore address; can be empty
  bool torch_store = false;
  bool main = false, ends = false;
  std::optional<core::overview_view> workers;  // set once the cluster has had workers or jobs
  core::duration worker_timeout{};
};

cluster_facts facts_of(engine_services& services, coordination::cluster_id id) {
  cluster_facts f;
  f.view = services.coordination.state().view(id, services.coordination.now());
  f.view.address = services.endpoints.address(id);
  if (auto const store = static_cast<std::uint64_t>(id); services.torch) {
    f.torch_address = services.torch->address(store);
    f.torch_store = services.torch->has(store);
  }
  f.main = id == services.endpoints.main();
  f.ends = ends(services.pools, f.view);
  auto* const h = services.pools.existing(id);
  if (!h) return f;
  f.workers = h->state().overview(h->now());
  f.worker_timeout = h->state().configuration().heartbeat_timeout;
  return f;
}

void task_members(member_list const& m, cluster_facts const& c) {
  auto all = c.view.generation;
  auto const workers = c.workers.value_or(core::overview_view{});
  auto const add = [&all](coordination::agent_health h, std::size_t n) {
    all.by_health[static_cast<std::size_t>(h)] += n;
  };
  add(coordination::agent_health::connected, workers.tasks_connected);
  add(coordination::agent_health::late, workers.tasks_late);
  add(coordination::agent_health::error, workers.tasks_error);
  add(coordination::agent_health::disconnected, workers.tasks_disconnected);
  agent_counts(m, all);
  m("total", std::accumulate(std::begin(all.by_health), std::end(all.by_health), std::size_t{0}));
}

void members(member_list const& m, cluster_facts const& c, bool with_history = false) {
  members(m, c.view.spec);
  job_sizes(m.when(c.view.next.has_value()), "next_jobs", c.view.next ? *c.view.next : c.view.spec);
  m("main", c.main);
  m.some("ends", c.ends, "true if the cluster belongs to a program that is ending or has ended");
  m("address", c.view.address);
  m.some("torch_address", c.torch_address, "address of the TCPStore of torch.distributed");
  m("torch_store", c.torch_store,
    "true if the cluster has a TCPStore, including a program's TCPStore, which has no address");
  m.object("tasks", [&c](member_list const& of) { task_members(of, c); });
  m.when(c.workers.has_value())("worker_heartbeat_timeout_ms", c.worker_timeout);
  m("generation", c.view.generation);
  m.when(with_history)("past", c.view.past, "earlier runs; omitted in listings");
}

response cluster_response(cluster_facts const& c) {
  return json_response(to_text(c, true));
}

coro::task<response> list_clusters(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const after = query.page_token('c');
  auto work = [limit, after, scope = scope_of(context, ex.req)](engine_services& services) {
    core::page<cluster_facts, std::uint64_t> page;
    std::uint64_t last = 0;
    auto const& all = services.coordination.state();
    for (auto const id : all.ids()) {
      if (static_cast<std::uint64_t>(id) <= after ||
          !sees(*scope, services.pools, all.spec(id).name))
        continue;
      if (page.items.size() == limit) {
        page.next = last;
        break;
      }
      page.items.push_back(facts_of(services, id));
      last = static_cast<std::uint64_t>(id);
    }
    return page;
  };
  return respond_with(context, std::move(work), as_page{"clusters", 'c'});
}

coro::task<response> get_cluster(web_context& context, exchange& ex) {
  return respond_with(context, in_cluster(ex, facts_of), cluster_response);
}

muster::status open_torch(engine_services& services, coordination::cluster_id c) {
  auto const& spec = services.coordination.state().spec(c);
  auto const where = torch::declared_store(spec);
  if (!where) return {};
  if (!services.torch)
    return wrong_field("torch", "this server provides no TCPStores; start it with --torch", 0,
                       muster::code::unimplemented);
  auto const opened = services.torch->open(static_cast<std::uint64_t>(c), spec.name, *where);
  if (opened) return {};
  return wrong_field("torch", opened.error().message, 0, opened.error().code);
}

// Deletes the cluster again if no port could be opened, because the cluster would be unusable.
muster::result<cluster_facts> declare(engine_services& services, coordination::cluster_spec spec) {
  auto const name = spec.name;
  auto const id = services.coordination.create(std::move(spec));
  if (!id) return id.error();
  auto const opened = services.endpoints.open(*id);
  auto failure = opened ? muster::status() : opened.error();
  if (opened) failure = open_torch(services, *id);
  if (failure.ok()) return facts_of(services, *id);
  (void)services.coordination.remove(name);
  services.endpoints.close(*id);
  return failure;
}

coro::task<response> create_cluster(web_context& context, exchange& ex) {
  json_check check;
  json_ref const body(ex.req.body);
  auto spec = read_cluster(check, body);
  if (check.failed()) co_return problem_response(check.failure());
  auto const location = "/api/v1/clusters/" + percent_encoded(spec.name);
  auto work = [spec = std::move(spec)](
                  engine_services& services,
                  answer_handle<muster::result<cluster_facts>> const& slot) mutable {
    auto made = declare(services, std::move(spec));
    services.coordination.when_durable([slot, made = std::move(made)](muster::status const& lost) {
      slot->send(!made || lost.ok() ? made : lost);
    });
  };
  auto const c = co_await context.engine.call<muster::result<cluster_facts>>(std::move(work));
  if (!c) co_return problem_response(to_problem(c.error()));
  auto r = cluster_response(*c);
  r.status = 201;
  r.headers.emplace_back("Location", location);
  co_return r;
}

muster::status forget(engine_services& services, coordination::cluster_id c, bool force) {
  auto const name = services.coordination.state().spec(c).name;
  if (c == services.endpoints.main())
    return {muster::code::failed_precondition,
            "'" + name + "' is the cluster of the main port and cannot be deleted"};
  if (auto const use = services.pools.in_use(c); !use.empty() && !force)
    return {muster::code::failed_precondition,
            "cluster '" + name + "' has " + use + "; use `force=true` to end them"};
  auto const removed = services.coordination.remove(name);
  if (!removed.ok()) return removed;
  services.endpoints.close(c);
  if (services.torch) services.torch->close(static_cast<std::uint64_t>(c));
  services.pools.remove(c, "cluster '" + name + "' was deleted");
  return {};
}

coro::task<response> fail_cluster(web_context& context, exchange& ex) {
  json_check check;
  json_ref const body(ex.req.body);
  auto failure = read_cluster_failure(check, body);
  if (check.failed()) co_return problem_response(check.failure());
  auto work = [failure = std::move(failure)](
                  engine_services& services, coordination::cluster_id c,
                  answer_handle<muster::result<cluster_facts>> const& slot) {
    auto e = failure;
    e.cluster = c;
    if (auto const done = services.coordination.fail(std::move(e)); !done.ok())
      return slot->send(done);
    services.coordination.when_durable(
        [slot, facts = facts_of(services, c)](muster::status const& lost) {
          lost.ok() ? slot->send(facts) : slot->send(lost);
        });
  };
  auto asked = asking_cluster<cluster_facts>(ex, std::move(work));
  auto const c = co_await context.engine.call<muster::result<cluster_facts>>(std::move(asked));
  if (!c) co_return problem_response(to_problem(c.error()));
  co_return cluster_response(*c);
}

coro::task<response> delete_cluster(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto work = in_cluster(
      ex, [force = query.flag("force")](engine_services& services, coordination::cluster_id c) {
        return forget(services, c, force);
      });
  return order(
      context, [work](engine_services& services, answer_handle<muster::status> const& slot) {
        auto const done = work(services);
        services.coordination.when_durable(
            [slot, done](muster::status const& lost) { slot->send(done.ok() ? lost : done); });
      });
}

}  // namespace

void add_cluster_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/clusters", list_clusters, "listClusters", "Clusters")
          .with({limit_parameter, page_token_parameter("c")})
          .responds_with("ClusterPage", [] { return page_schema("clusters", "ClusterView"); }));
  to.push_back(post("/api/v1/clusters", create_cluster, "createCluster",
                    "Create a cluster and open a port for its coordination service")
                   .takes(body_kind::json, "Cluster", R"({"name":"train","jobs":{"worker":8}})")
                   .responds_with("ClusterView", schema_of<cluster_facts, bool>, 201)
                   .also(409, "A cluster with this name already exists")
                   .also(422, "A value exceeds the limits of a cluster")
                   .also(429, "The server has reached its limit on clusters or ports"));
  to.push_back(get("/api/v1/clusters/{cluster}", get_cluster, "getCluster",
                   "Get a cluster with its generations")
                   .responds_with("ClusterView"));
  to.push_back(post("/api/v1/clusters/{cluster}/fail", fail_cluster, "failCluster",
                    "Fail the run of a cluster and send the reason to every task")
                   .takes(body_kind::json, "ClusterFailure", R"({"message":"the disks are full"})")
                   .responds_with("ClusterView")
                   .also(409, "No task is registered, or the run has ended")
                   .also(422, "The reason is too long"));
  to.push_back(
      remove("/api/v1/clusters/{cluster}", delete_cluster, "deleteCluster",
             "Delete a cluster; all waiting calls in it fail")
          .with({{"force", query_kind::flag,
                  "also disconnect the cluster's workers and delete its jobs"}})
          .also(409, "The cluster is the main cluster, or has workers or unfinished jobs"));
}

}  // namespace muster::web
