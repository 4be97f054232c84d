// Barriers of a cluster: who is there, who is missing; an operator may cancel one.
#include "web/http/query.hpp"
#include "web/json/cluster_json.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

namespace {

using coordination::barrier_view;

struct barriers_at {
  std::vector<barrier_view> rows;
  core::time_point now{};
};

coro::task<response> list_barriers(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const after = static_cast<std::size_t>(query.page_token('b'));
  if (query.failed()) co_return problem_response(query.failure());
  using result = muster::result<barriers_at>;
  auto work = [cluster = std::string(ex.req.capture("cluster")), after,
               limit](engine_room& room) -> result {
    auto const c = find_cluster(room, cluster);
    if (!c) return c.error();
    barriers_at b;
    b.now = room.coordination.now();
    b.rows = room.coordination.state().current(*c).barriers(after, limit + 1);
    return b;
  };
  auto asking = context.engine.on_engine(std::move(work));
  auto const b = co_await std::move(asking);
  if (!b) co_return problem_response(b.error());
  auto const shown = std::min(limit, b->rows.size());
  std::string text;
  json_out out(text);
  out.begin_object().key("barriers").begin_array();
  for (std::size_t i = 0; i < shown; ++i) write(out, b->rows[i], b->now, false);
  out.end_array();
  if (b->rows.size() > limit) out.key("next_page_token").string(page_token('b', after + limit));
  out.end_object();
  text += '\n';
  co_return json_response(std::move(text));
}

muster::status no_barrier(std::string const& cluster, std::string const& id) {
  return {muster::code::not_found, "cluster '" + cluster + "' has no barrier '" + id + "'"};
}

muster::result<std::string> barrier_text(engine_room& room, std::string const& cluster,
                                         std::string const& id) {
  auto const c = find_cluster(room, cluster);
  if (!c) return c.error();
  auto const now = room.coordination.now();
  auto const b = room.coordination.state().current(*c).barrier(id);
  if (!b) return no_barrier(room.coordination.state().spec(*c).name, id);
  std::string text;
  json_out out(text);
  write(out, *b, now, true);
  text += '\n';
  return text;
}

coro::task<response> get_barrier(web_context& context, exchange& ex) {
  auto work = [cluster = std::string(ex.req.capture("cluster")),
               id = std::string(ex.req.capture("id"))](engine_room& room) {
    return barrier_text(room, cluster, id);
  };
  auto asking = context.engine.on_engine(std::move(work));
  auto b = co_await std::move(asking);
  if (!b) co_return problem_response(b.error());
  co_return json_response(std::move(*b));
}

// An agent may cancel a barrier before it begins; here that is taken for a misspelt id.
muster::status may_cancel(engine_room& room, coordination::cluster_id c, std::string const& id) {
  auto const b = room.coordination.state().current(c).barrier(id);
  if (!b) return no_barrier(room.coordination.state().spec(c).name, id);
  if (b->state == coordination::barrier_state::running) return {};
  return {muster::code::failed_precondition,
          "barrier '" + id + "' has ended already: it has " + (b->fault ? "failed" : "passed")};
}

coro::task<response> cancel_barrier(web_context& context, exchange& ex) {
  using result = muster::result<std::string>;
  auto work = [cluster = std::string(ex.req.capture("cluster")),
               id = std::string(ex.req.capture("id"))](engine_room& room,
                                                       answer_handle<result> const& slot) {
    auto const c = find_cluster(room, cluster);
    if (!c) return slot->send(c.error());
    if (auto const bad = may_cancel(room, *c, id); !bad.ok()) return slot->send(bad);
    coordination::cancel_barrier r;
    r.id = id;
    auto const then = [&room, cluster, id](auto&) { return barrier_text(room, cluster, id); };
    ask_cluster<std::string>(room, *c, std::move(r), slot, then);
  };
  auto asking =
      context.engine.call<result>(std::move(work), context.options.timeouts.engine, nullptr);
  auto b = co_await std::move(asking);
  if (!b) co_return problem_response(b.error());
  co_return json_response(std::move(*b));
}

}  // namespace

void add_barrier_routes(std::vector<route>& to) {
  to.push_back({"GET",
                "/api/v1/clusters/{cluster}/barriers",
                list_barriers,
                "listBarriers",
                "Barriers: running ones, then finished ones, newest first",
                200,
                "application/json",
                body_kind::none,
                {limit_parameter, page_token_parameter}});
  to.push_back({"GET", "/api/v1/clusters/{cluster}/barriers/{id}", get_barrier, "getBarrier",
                "One barrier with everyone who arrived and everyone who is missing"});
  to.push_back({"POST", "/api/v1/clusters/{cluster}/barriers/{id}/cancel", cancel_barrier,
                "cancelBarrier", "End a running barrier; all its callers get CANCELLED"});
}

}  // namespace muster::web
