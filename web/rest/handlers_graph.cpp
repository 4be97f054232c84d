#include <chrono>
#include <span>
#include <unordered_map>

#include "server/core/api/listings.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/closure_listing.hpp"

namespace muster::web {

namespace {

void node_members(member_list const& m, core::graph_nodes const& g) {
  using node = core::graph_nodes::node const&;
  m.list("index", g.nodes, [](node n) { return n.index; });
  m.list("closure", g.nodes, [](node n) { return n.id; });
  m.list(
      "function", g.nodes, [](node n) { return n.function; }, "index into `functions`");
  m.list(
      "state", g.nodes, [](node n) { return static_cast<unsigned>(n.state); },
      "index into `states`");
}

void group_members(member_list const& m,
                   std::pair<std::string, core::closure_counts> const& group) {
  m("function", group.first);
  m("counts", group.second);
}

void write_edges(json_out& out, core::graph_nodes const& g) {
  std::unordered_map<core::closure_id, std::size_t> places;
  for (auto const& n : g.nodes) places.emplace(n.id, places.size());
  for (std::size_t to = 0; to < g.nodes.size(); ++to)
    for (auto const input : g.nodes[to].inputs)
      if (auto const from = places.find(input); from != places.end())
        out.begin_array().number(from->second).number(to).end_array();
}

void write_edges(json_out& out, core::closure_groups const& g) {
  for (auto const& [edge, count] : g.edges)
    out.begin_array().number(edge.first).number(edge.second).number(count).end_array();
}

void graph_members(member_list const& m, core::graph_nodes const& g,
                   core::closure_groups const& groups, bool grouped) {
  auto const single = m.when(!grouped);
  m("grouped", grouped);
  single.object("nodes", [&g](member_list const& of) { node_members(of, g); });
  single("functions", g.functions);
  single("states", all_names<core::closure_state>());
  m.when(grouped).list("groups", groups.groups, group_members);
  m.json(
      "edges", [] { return schema::array(schema::array(schema::count())); },
      [&](json_out& out) {
        out.begin_array();
        grouped ? write_edges(out, groups) : write_edges(out, g);
        out.end_array();
      },
      "indices of the two nodes, from and to; for groups, also the number of edges");
  m("looked_at", grouped ? groups.looked_at : g.nodes.size());
  m("of", grouped ? groups.of : g.of);
  m("complete", grouped ? groups.done : g.done,
    "false if the response was cut off by its time limit");
}

// Collects the graph in steps; the partial result is passed to the engine and back.
coro::task<response> get_graph(web_context& context, exchange& ex) {
  auto const id = server::parse_job(ex.req.capture("id"));
  if (!id) co_return problem_response(unknown_id("job", ex.req.capture("id")));
  auto const until = std::chrono::steady_clock::now() + listing_time;
  core::graph_nodes nodes;
  core::closure_groups groups;
  bool grouped = false;
  for (bool done = false; !done && std::chrono::steady_clock::now() < until;) {
    if (!grouped) {
      auto work = [id = *id, g = std::move(nodes)](
                      server::hub& h) mutable -> muster::result<core::graph_nodes> {
        if (auto const s = h.state().closures().graph(id, g); !s.ok()) return s;
        return std::move(g);
      };
      auto step = co_await context.engine.on_engine(in_pool_of(*id, std::move(work)));
      if (!step) co_return problem_response(step.error());
      nodes = std::move(*step);
      done = nodes.done;
      grouped = nodes.of > core::graph_nodes::nodes_max;
      groups.of = nodes.of;
    } else {
      auto work = [id = *id, g = std::move(groups)](
                      server::hub& h) mutable -> muster::result<core::closure_groups> {
        if (auto const s = h.state().closures().group(id, g); !s.ok()) return s;
        return std::move(g);
      };
      auto step = co_await context.engine.on_engine(in_pool_of(*id, std::move(work)));
      if (!step) co_return problem_response(step.error());
      groups = std::move(*step);
      done = groups.done;
    }
  }
  co_return object_response(graph_members, nodes, groups, grouped);
}

}  // namespace

void add_graph_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/jobs/{id}/graph", get_graph, "getGraph",
                   "Get the graph of closures and their dependencies; grouped by function above "
                   "2,000 closures")
                   .responds_with("Graph", schema_of_members<graph_members>));
}

}  // namespace muster::web
