#include "base/text.hpp"
#include "server/history/barriers/stragglers.hpp"
#include "server/hub/coordination_hub.hpp"
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
  auto work = in_cluster(ex, [after, limit](engine_services& services, cluster_id c) {
    barriers_at b;
    b.now = services.coordination.now();
    b.rows = services.coordination.state().current(c).views().barriers_from(after, limit + 1);
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
  return respond_with(context, std::move(work), std::move(tell));
}

muster::status no_barrier(engine_services& services, cluster_id c, std::string const& id) {
  return {muster::code::not_found, "cluster '" + services.coordination.state().spec(c).name +
                                       "' has no barrier '" + id + "'"};
}

muster::result<std::string> barrier_text(engine_services& services, cluster_id c,
                                         std::string const& id) {
  auto const now = services.coordination.now();
  auto const b = services.coordination.state().current(c).views().barrier(id);
  if (!b) return no_barrier(services, c, id);
  return to_text(*b, now, true);
}

coro::task<response> get_barrier(web_context& context, exchange& ex) {
  auto text = [id = std::string(ex.req.capture("id"))](engine_services& services, cluster_id c) {
    return barrier_text(services, c, id);
  };
  return respond_with(context, in_cluster(ex, std::move(text)), as_raw_json());
}

coro::task<response> get_stragglers(web_context& context, exchange& ex) {
  auto work = [](engine_services& services, cluster_id c) {
    auto const& hub = services.coordination;
    return history::stragglers(hub.late().of(c), hub.state().current(c).views());
  };
  return respond_with(context, in_cluster(ex, std::move(work)));
}

// Refuses barriers that have not started. An agent can cancel such a barrier, but the ID in a REST
// request is probably misspelt.
muster::status may_cancel(engine_services& services, cluster_id c, std::string const& id) {
  auto const b = services.coordination.state().current(c).views().barrier(id);
  if (!b) return no_barrier(services, c, id);
  if (b->state == coordination::barrier_state::running) return {};
  return {muster::code::failed_precondition,
          "barrier '" + id + "' has already ended: it " + (b->fault ? "failed" : "passed")};
}

coro::task<response> cancel_barrier(web_context& context, exchange& ex) {
  auto cancel = [id = std::string(ex.req.capture("id"))](engine_services& services, cluster_id c,
                                                         auto const& slot) {
    if (auto const bad = may_cancel(services, c, id); !bad.ok()) return slot->send(bad);
    coordination::cancel_barrier r;
    r.id = id;
    auto const then = [&services, c, id](auto&) { return barrier_text(services, c, id); };
    ask_cluster<std::string>(services, c, std::move(r), slot, then);
  };
  return ask<std::string>(context, asking_cluster<std::string>(ex, std::move(cancel)),
                          as_raw_json());
}

muster::result<coordination::task_ref> task_named(coordination::cluster_spec const& spec,
                                                  std::string_view text) {
  auto const colon = std::min(text.rfind(':'), text.size());
  auto const index = parse_task_index(text.substr(std::min(colon + 1, text.size())));
  if (colon == 0 || !index)
    return muster::status{muster::code::invalid_argument,
                          "expected a task such as worker:3, got '" + std::string(text) + "'"};
  auto const task = spec.find(text.substr(0, colon), *index);
  if (task == coordination::no_task)
    return muster::status{muster::code::not_found,
                          "cluster '" + spec.name + "' has no task " + std::string(text)};
  return coordination::task_ref{task, {}};
}

// The service has the same limit, but a worse error message.
constexpr std::size_t barrier_id_bytes_max = 4'096;

struct barrier_visit {
  std::string id, task, participants;
  std::chrono::milliseconds timeout{};
};

/// A fault, the use of the barrier that completed, or the problem in an invalid request.
struct visit_outcome {
  coordination::fault_ptr fault;
  std::int64_t counter = 0;
  std::optional<problem> refusal;
};

visit_outcome refused_visit(std::string field, muster::status const& s) {
  auto p = to_problem(s);
  p.field = std::move(field);
  return {nullptr, 0, std::move(p)};
}

// Waits in place of the task until the barrier ends or the time limit is reached.
void enter_barrier(engine_services& services, cluster_id c, barrier_visit const& v,
                   answer_handle<muster::result<visit_outcome>> const& slot) {
  auto const& spec = services.coordination.state().spec(c);
  coordination::enter_barrier r;
  r.visits = true;
  r.id = v.id;
  r.timeout = v.timeout;
  r.from.deadline = services.coordination.now() + with_margin(v.timeout);
  auto const task = task_named(spec, v.task);
  if (!task) return slot->send(refused_visit("task", task.error()));
  r.task = *task;
  for (std::string_view rest = v.participants; !rest.empty();) {
    auto const comma = std::min(rest.find(','), rest.size());
    auto const one = task_named(spec, rest.substr(0, comma));
    if (!one) return slot->send(refused_visit("participants", one.error()));
    r.participants.push_back(*one);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  auto const call = services.coordination.ask(c, std::move(r), [slot](coordination::reply& got) {
    auto const* counter = std::get_if<std::int64_t>(&got.body);
    slot->send(visit_outcome{got.fault, counter ? *counter : 0, {}});
  });
  slot->when_left([c, call](engine_services& there) { there.coordination.forget(c, call); });
}

// A failed barrier is a conflict (409), even if an agent's timeout caused the failure. Without a
// barrier, the fault is the caller's own timeout, which keeps its status, or the service's
// shutdown, which becomes 503.
problem visit_problem(coordination::fault const& f) {
  auto p = to_problem(to_status(f));
  if (f.barrier) p.status = 409;
  if (!f.barrier && f.code == muster::code::internal) p.status = 503;
  if (!f.barrier && f.code == muster::code::invalid_argument) p.field = "id";
  return p;
}

void passed_members(member_list const& m, std::string const& id, std::int64_t counter) {
  m("id", id);
  m("counter", counter);
  m.word("state", "PASSED", {"PASSED"});
}

coro::task<response> wait_at_barrier(web_context& context, exchange& ex) {
  query_check query(ex.req);
  barrier_visit v{std::string(ex.req.capture("id")), std::string(query.text("task")),
                  std::string(query.text("participants")), query.timeout()};
  if (v.id.size() > barrier_id_bytes_max)
    co_return problem_response(too_many_bytes("id", v.id, barrier_id_bytes_max));
  auto work = asking_cluster<visit_outcome>(
      ex, [v](engine_services& services, cluster_id c, auto const& slot) {
        enter_barrier(services, c, v, slot);
      });
  auto const came = co_await context.engine.wait<muster::result<visit_outcome>>(
      std::move(work), v.timeout, ex.peer());
  if (!came) co_return problem_response(came.error());
  if (came->refusal) co_return problem_response(*came->refusal);
  if (came->fault) co_return problem_response(visit_problem(*came->fault));
  co_return object_response(passed_members, v.id, came->counter);
}

}  // namespace

void add_barrier_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/clusters/{cluster}/barriers", list_barriers, "listBarriers",
          "List barriers: running barriers, then finished barriers, newest first")
          .with({limit_parameter, page_token_parameter("b")})
          .responds_with("BarrierPage", [] { return page_schema("barriers", "BarrierView"); }));
  to.push_back(get("/api/v1/clusters/{cluster}/barriers/{id}", get_barrier, "getBarrier",
                   "Get a barrier with the tasks that have arrived and the tasks that are missing")
                   .responds_with("BarrierView",
                                  schema_of<coordination::barrier_view, core::time_point, bool>));
  to.push_back(get("/api/v1/clusters/{cluster}/stragglers", get_stragglers, "getStragglers",
                   "List the tasks that arrived late at the most recent barriers of this run")
                   .responds_with("Stragglers", schema_of<history::straggler_view>));
  to.push_back(post("/api/v1/clusters/{cluster}/barriers/{id}/cancel", cancel_barrier,
                    "cancelBarrier", "Cancel a running barrier; all waiting tasks get CANCELLED")
                   .responds_with("BarrierView")
                   .also(409, "The barrier has already ended"));
  to.push_back(
      post("/api/v1/clusters/{cluster}/barriers/{id}/wait", wait_at_barrier, "waitAtBarrier",
           "Wait at a barrier on behalf of a task without an agent; closing the connection "
           "withdraws the task")
          .with({{.name = "task",
                  .kind = query_kind::text,
                  .meaning = "the task to wait as, such as worker:3",
                  .pattern = R"(^[\s\S]+:[0-9]{1,18}$)",
                  .missing = "required: the task to wait as, such as worker:3"},
                 {.name = "participants",
                  .kind = query_kind::text,
                  .meaning = "participating tasks, such as worker:0,worker:3; default: all tasks",
                  .pattern = R"(^[^,]+:[0-9]{1,18}(,[^,]+:[0-9]{1,18})*,?$)"},
                 timeout_parameter})
          .responds_with("BarrierPassed", schema_of_members<passed_members>)
          .also(409,
                "The barrier failed, was cancelled, or other callers specified different "
                "participants")
          .also(422, "The barrier id is too long")
          .also(429, "The cluster has reached its limit on waiting calls or barriers")
          .also(504, "The wait timed out; `detail` lists the missing tasks"));
}

}  // namespace muster::web
