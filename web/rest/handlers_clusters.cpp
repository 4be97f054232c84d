// Clusters: declared, looked at, forgotten.
#include "base/text.hpp"
#include "web/http/query.hpp"
#include "web/json/cluster_json.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

namespace {

struct cluster_facts {
  coordination::cluster_view view;
  std::optional<core::overview_view> workers;  // of the main cluster
  core::duration worker_timeout{};
};

cluster_facts facts_of(engine_room& room, coordination::cluster_id id) {
  cluster_facts f;
  f.view = room.coordination.state().view(id, room.coordination.now());
  f.view.address = room.doors.address(id);
  if (id != room.doors.main()) return f;
  f.workers = room.hub.state().overview(room.hub.now());
  f.worker_timeout = room.hub.state().configuration().heartbeat_timeout;
  return f;
}

// Agents and closure workers together, by state.
void write_tasks(json_out& out, cluster_facts const& c) {
  using enum coordination::agent_health;
  auto const agents = [&](coordination::agent_health h) {
    return c.view.generation.by_health[static_cast<std::size_t>(h)];
  };
  auto const workers = c.workers.value_or(core::overview_view{});
  std::size_t total = 0;
  auto const row = [&](std::string_view key, std::size_t n) {
    out.key(key).number(n);
    total += n;
  };
  out.key("tasks").begin_object();
  row("missing", agents(missing));
  row("registering", agents(registering));
  row("connected", agents(connected) + workers.tasks_connected);
  row("late", agents(late) + workers.tasks_late);
  row("error", agents(error) + workers.tasks_error);
  row("disconnected", agents(disconnected) + workers.tasks_disconnected);
  out.key("total").number(total);
  out.end_object();
}

void write(json_out& out, cluster_facts const& c, bool with_past) {
  out.begin_object();
  write_fields(out, c.view.spec);
  if (c.view.next) {
    out.key("next_jobs").begin_object();
    for (auto const& j : c.view.next->jobs) out.key(j.name).number(j.tasks);
    out.end_object();
  }
  out.key("main").boolean(c.workers.has_value());
  out.key("address").string(c.view.address);
  write_tasks(out, c);
  if (c.workers) {
    auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(c.worker_timeout);
    out.key("worker_heartbeat_timeout_ms").number(ms.count());
  }
  out.key("generation");
  write(out, c.view.generation);
  if (with_past) {
    out.key("past").begin_array();
    for (auto const& g : c.view.past) write(out, g);
    out.end_array();
  }
  out.end_object();
}

response cluster_response(cluster_facts const& c, unsigned status) {
  std::string text;
  json_out out(text);
  write(out, c, true);
  text += '\n';
  return json_response(std::move(text), status);
}

struct cluster_page {
  std::vector<cluster_facts> items;
  std::uint64_t next = 0;
};

coro::task<response> list_clusters(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const after = query.page_token('c');
  if (query.failed()) co_return problem_response(query.failure());
  auto work = [limit, after](engine_room& room) {
    cluster_page page;
    for (auto const id : room.coordination.state().ids()) {
      if (static_cast<std::uint64_t>(id) <= after) continue;
      if (page.items.size() == limit) return page;
      page.items.push_back(facts_of(room, id));
      page.next = static_cast<std::uint64_t>(id);
    }
    page.next = 0;
    return page;
  };
  auto asking = context.engine.on_engine(std::move(work));
  auto const page = co_await std::move(asking);
  if (!page) co_return problem_response(page.error());
  std::string text;
  json_out out(text);
  out.begin_object().key("clusters").begin_array();
  for (auto const& c : page->items) write(out, c, false);
  out.end_array();
  if (page->next > 0) out.key("next_page_token").string(page_token('c', page->next));
  out.end_object();
  text += '\n';
  co_return json_response(std::move(text));
}

muster::result<cluster_facts> look_up(engine_room& room, std::string const& name) {
  auto const id = find_cluster(room, name);
  if (!id) return id.error();
  return facts_of(room, *id);
}

coro::task<response> get_cluster(web_context& context, exchange& ex) {
  auto work = [name = std::string(ex.req.capture("cluster"))](engine_room& room) {
    return look_up(room, name);
  };
  auto asking = context.engine.on_engine(std::move(work));
  auto const c = co_await std::move(asking);
  if (!c) co_return problem_response(c.error());
  co_return cluster_response(*c, 200);
}

// A cluster without a port would be of no use, so it is forgotten again.
muster::result<cluster_facts> declare(engine_room& room, coordination::cluster_spec spec) {
  auto const name = spec.name;
  auto const id = room.coordination.create(std::move(spec));
  if (!id) return id.error();
  auto const opened = room.doors.open(*id);
  if (opened) return facts_of(room, *id);
  (void)room.coordination.remove(name);
  return opened.error();
}

// What the core finds wrong begins with the field's name.
problem declaration_problem(muster::status const& s) {
  auto p = to_problem(s);
  auto const colon = s.message.find(": ");
  if (s.code == muster::code::invalid_argument && colon != std::string::npos)
    p.field = s.message.substr(0, colon);
  return p;
}

coro::task<response> create_cluster(web_context& context, exchange& ex) {
  json_check check;
  json_ref const body(ex.req.body);
  auto spec = read_cluster(check, body);
  if (check.failed()) co_return problem_response(check.failure());
  auto const location = "/api/v1/clusters/" + percent_encoded(spec.name);
  auto work = [spec = std::move(spec)](engine_room& room) mutable {
    return declare(room, std::move(spec));
  };
  auto asking = context.engine.on_engine(std::move(work));
  auto const c = co_await std::move(asking);
  if (!c) co_return problem_response(declaration_problem(c.error()));
  auto r = cluster_response(*c, 201);
  r.headers.emplace_back("Location", location);
  co_return r;
}

muster::status forget(engine_room& room, std::string const& name) {
  auto const id = find_cluster(room, name);
  if (!id) return id.error();
  if (*id == room.doors.main())
    return {muster::code::failed_precondition,
            "'" + name + "' is the main port's cluster; it stays until the server stops"};
  auto const removed = room.coordination.remove(name);
  if (removed.ok()) room.doors.close(*id);
  return removed;
}

coro::task<response> delete_cluster(web_context& context, exchange& ex) {
  auto work = [name = std::string(ex.req.capture("cluster"))](engine_room& room) {
    return forget(room, name);
  };
  auto asking = context.engine.on_engine(std::move(work));
  auto const done = co_await std::move(asking);
  if (!done.ok()) co_return problem_response(done);
  co_return no_content();
}

}  // namespace

void add_cluster_routes(std::vector<route>& to) {
  to.push_back({"GET",
                "/api/v1/clusters",
                list_clusters,
                "listClusters",
                "Clusters",
                200,
                "application/json",
                body_kind::none,
                {limit_parameter, page_token_parameter}});
  to.push_back({"POST",
                "/api/v1/clusters",
                create_cluster,
                "createCluster",
                "Declare a cluster and open a port for its coordination service",
                201,
                "application/json",
                body_kind::json,
                {},
                "Cluster"});
  to.push_back({"GET", "/api/v1/clusters/{cluster}", get_cluster, "getCluster",
                "One cluster with its generations"});
  to.push_back({"DELETE", "/api/v1/clusters/{cluster}", delete_cluster, "deleteCluster",
                "Forget a cluster; whoever waits in it is answered", 204, ""});
}

}  // namespace muster::web
