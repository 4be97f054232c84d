// Barriers of a cluster: who is there, who is missing; an operator may cancel one.
#include "web/json/cluster_json.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

using coordination::barrier_view;
using coordination::cluster_id;

struct barriers_at {
  std::vector<barrier_view> rows;
  core::time_point now{};
};

coro::task<response> list_barriers(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const after = static_cast<std::size_t>(query.page_token('b'));
  if (query.failed()) return refused(query.failure());
  auto work = in_cluster(ex, [after, limit](engine_services& services, cluster_id c) {
    barriers_at b;
    b.now = services.coordination.now();
    b.rows = services.coordination.state().current(c).barriers(after, limit + 1);
    return b;
  });
  auto tell = [after, limit](barriers_at b) {
    bool const more = b.rows.size() > limit;
    if (more) b.rows.pop_back();
    auto const next = more ? page_token('b', after + limit) : std::string();
    return page_response("barriers", next, [&b](json_out& out) {
      for (auto const& row : b.rows) write(out, row, b.now, false);
    });
  };
  return look(context, std::move(work), std::move(tell));
}

muster::status no_barrier(engine_services& services, cluster_id c, std::string const& id) {
  return {muster::code::not_found, "cluster '" + services.coordination.state().spec(c).name +
                                       "' has no barrier '" + id + "'"};
}

muster::result<std::string> barrier_text(engine_services& services, cluster_id c,
                                         std::string const& id) {
  auto const now = services.coordination.now();
  auto const b = services.coordination.state().current(c).barrier(id);
  if (!b) return no_barrier(services, c, id);
  return to_text(*b, now, true);
}

coro::task<response> get_barrier(web_context& context, exchange& ex) {
  auto text = [id = std::string(ex.req.capture("id"))](engine_services& services, cluster_id c) {
    return barrier_text(services, c, id);
  };
  return look(context, in_cluster(ex, std::move(text)), as_it_is());
}

// An agent may cancel a barrier before it begins; here that is taken for a misspelt id.
muster::status may_cancel(engine_services& services, cluster_id c, std::string const& id) {
  auto const b = services.coordination.state().current(c).barrier(id);
  if (!b) return no_barrier(services, c, id);
  if (b->state == coordination::barrier_state::running) return {};
  return {muster::code::failed_precondition,
          "barrier '" + id + "' has ended already: it has " + (b->fault ? "failed" : "passed")};
}

coro::task<response> cancel_barrier(web_context& context, exchange& ex) {
  using handle = answer_handle<muster::result<std::string>>;
  auto cancel = [id = std::string(ex.req.capture("id"))](engine_services& services, cluster_id c,
                                                         handle const& slot) {
    if (auto const bad = may_cancel(services, c, id); !bad.ok()) return slot->send(bad);
    coordination::cancel_barrier r;
    r.id = id;
    auto const then = [&services, c, id](auto&) { return barrier_text(services, c, id); };
    ask_cluster<std::string>(services, c, std::move(r), slot, then);
  };
  return ask<std::string>(context, asking_cluster<std::string>(ex, std::move(cancel)), as_it_is());
}

}  // namespace

void add_barrier_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/clusters/{cluster}/barriers", list_barriers, "listBarriers",
                   "Barriers: running ones, then finished ones, newest first",
                   {limit_parameter, page_token_parameter}));
  to.push_back(get("/api/v1/clusters/{cluster}/barriers/{id}", get_barrier, "getBarrier",
                   "One barrier with everyone who arrived and everyone who is missing"));
  to.push_back(post("/api/v1/clusters/{cluster}/barriers/{id}/cancel", cancel_barrier,
                    "cancelBarrier", "End a running barrier; all its callers get CANCELLED"));
}

}  // namespace muster::web
