// Who waits for whom: the closures of a job with their inputs, or, of many, the functions.
#include <chrono>
#include <unordered_map>

#include "server/core/api/listings.hpp"
#include "server/hub/id_text.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/closure_listing.hpp"

namespace muster::web {

namespace {

constexpr std::string_view state_names[] = {"BLOCKED",   "QUEUED", "RUNNING",
                                            "SUCCEEDED", "FAILED", "CANCELLED"};

template <class Row, class Rows>
void write_column(json_out& out, std::string_view name, Rows const& rows, Row const& row) {
  out.key(name).begin_array();
  for (auto const& r : rows) row(r);
  out.end_array();
}

response told(core::graph_nodes const& g) {
  std::unordered_map<core::closure_id, std::size_t> places;
  for (auto const& n : g.nodes) places.emplace(n.id, places.size());
  return json_response(json_line([&](json_out& out) {
    auto const object = out.object();
    out.key("grouped").boolean(false);
    out.key("nodes").begin_object();
    write_column(out, "index", g.nodes, [&](auto const& n) { out.number(n.index); });
    write_column(out, "closure", g.nodes, [&](auto const& n) { out.string(core::text(n.id)); });
    write_column(out, "function", g.nodes, [&](auto const& n) { out.number(n.function); });
    write_column(out, "state", g.nodes,
                 [&](auto const& n) { out.number(static_cast<unsigned>(n.state)); });
    out.end_object();
    out.key("functions").strings(g.functions);
    out.key("states").strings(state_names);
    out.key("edges").begin_array();
    for (std::size_t to = 0; to < g.nodes.size(); ++to)
      for (auto const input : g.nodes[to].inputs)
        if (auto const from = places.find(input); from != places.end())
          out.begin_array().number(from->second).number(to).end_array();
    out.end_array();
    out.key("looked_at").number(g.nodes.size());
    out.key("of").number(g.of);
    out.key("complete").boolean(g.done);
  }));
}

response told(core::closure_groups const& g) {
  return json_response(json_line([&](json_out& out) {
    auto const object = out.object();
    out.key("grouped").boolean(true);
    out.key("groups").begin_array();
    for (auto const& [function, counts] : g.groups) {
      auto const group = out.object();
      out.key("function").string(function);
      out.key("counts");
      write(out, counts);
    }
    out.end_array();
    out.key("edges").begin_array();
    for (auto const& [edge, count] : g.edges)
      out.begin_array().number(edge.first).number(edge.second).number(count).end_array();
    out.end_array();
    out.key("looked_at").number(g.looked_at);
    out.key("of").number(g.of);
    out.key("complete").boolean(g.done);
  }));
}

// Step by step; what was collected goes to the engine and comes back.
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
        if (auto const s = h.state().graph(id, g); !s.ok()) return s;
        return std::move(g);
      };
      auto asking = context.engine.on_engine(in_pool_of(*id, std::move(work)));
      auto step = co_await std::move(asking);
      if (!step) co_return problem_response(step.error());
      nodes = std::move(*step);
      done = nodes.done;
      grouped = nodes.of > core::graph_nodes::nodes_max;
      groups.of = nodes.of;
    } else {
      auto work = [id = *id, g = std::move(groups)](
                      server::hub& h) mutable -> muster::result<core::closure_groups> {
        if (auto const s = h.state().group(id, g); !s.ok()) return s;
        return std::move(g);
      };
      auto asking = context.engine.on_engine(in_pool_of(*id, std::move(work)));
      auto step = co_await std::move(asking);
      if (!step) co_return problem_response(step.error());
      groups = std::move(*step);
      done = groups.done;
    }
  }
  co_return grouped ? told(groups) : told(nodes);
}

}  // namespace

void add_graph_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/jobs/{id}/graph", get_graph, "getGraph",
                   "Closures and which waits for which; of more than 2,000, by function")
                   .tells("Graph"));
}

}  // namespace muster::web
