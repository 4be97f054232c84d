// The tasks of a cluster: list, look at one, drain it.
#include "web/handlers.hpp"
#include "web/query.hpp"
#include "web/text.hpp"
#include "web/views_json.hpp"

namespace muster::web {

namespace {

std::optional<core::task_state> task_state_named(std::string_view text) {
  using enum core::task_state;
  for (auto const s : {connected, late, error, disconnected})
    if (equal_ignoring_case(text, core::name(s))) return s;
  return {};
}

struct tasks_at {
  core::page<core::task_view, std::size_t> page;
  core::time_point now;
};

coro::task<response> list_tasks(web_context& context, exchange& ex) {
  if (auto p = check_cluster(ex.req)) co_return problem_response(*p);
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const after = static_cast<std::size_t>(query.page_token('t'));
  core::coordinator::task_filter filter;
  filter.job = query.text("job");
  filter.state = task_state_named(query.text("state"));
  if (!query.text("state").empty() && !filter.state)
    query.fail("state", "expected CONNECTED, LATE, ERROR or DISCONNECTED");
  if (query.failed()) co_return problem_response(query.failure());

  auto work = [after, limit, filter](server::hub& h) {
    tasks_at t;
    t.page = h.state().tasks(after, limit, filter);
    t.now = h.now();
    return t;
  };
  auto asking = context.engine.on_engine(std::move(work));
  auto const tasks = co_await std::move(asking);
  if (!tasks) co_return problem_response(tasks.error());
  std::string text;
  json_out out(text);
  out.begin_object().key("tasks").begin_array();
  for (auto const& t : tasks->page.items) write(out, t, tasks->now);
  out.end_array();
  if (tasks->page.next) out.key("next_page_token").string(page_token('t', *tasks->page.next));
  out.end_object();
  text += '\n';
  co_return json_response(std::move(text));
}

struct task_at {
  core::task_view task;
  core::time_point now;
};

core::result<task_at> look_up(server::hub& h, std::string const& job, std::int64_t index) {
  auto t = h.state().task(job, index);
  if (!t) return t.error();
  task_at found;
  found.task = std::move(*t);
  found.now = h.now();
  return found;
}

coro::task<response> get_task(web_context& context, exchange& ex) {
  if (auto p = check_cluster(ex.req)) co_return problem_response(*p);
  auto const index = parse_number(ex.req.capture("index"));
  if (!index || *index > INT64_MAX)
    co_return problem_response(unknown_id("task", ex.req.capture("index")));
  auto work = [job = std::string(ex.req.capture("job")), index = static_cast<std::int64_t>(*index)](
                  server::hub& h) { return look_up(h, job, index); };
  auto asking = context.engine.on_engine(std::move(work));
  auto const t = co_await std::move(asking);
  if (!t) co_return problem_response(t.error());
  co_return json_response(to_text(t->task, t->now));
}

coro::task<response> drain_task(web_context& context, exchange& ex) {
  if (auto p = check_cluster(ex.req)) co_return problem_response(*p);
  auto const index = parse_number(ex.req.capture("index"));
  if (!index || *index > INT64_MAX)
    co_return problem_response(unknown_id("task", ex.req.capture("index")));
  using result = core::result<task_at>;
  auto work = [job = std::string(ex.req.capture("job")), index = static_cast<std::int64_t>(*index)](
                  server::hub& h, answer_handle<result> const& slot) {
    core::drain_task e;
    e.job = job;
    e.index = index;
    h.ask(std::move(e), [&h, slot, job, index](core::reply const& r) {
      r.status.ok() ? slot->send(look_up(h, job, index)) : slot->send(r.status);
    });
  };
  auto asking =
      context.engine.call<result>(std::move(work), context.options.timeouts.engine, nullptr);
  auto const t = co_await std::move(asking);
  if (!t) co_return problem_response(t.error());
  co_return json_response(to_text(t->task, t->now));
}

}  // namespace

void add_task_routes(std::vector<route>& to) {
  query_parameter const limit{"limit", query_kind::number,
                              "entries of the page, 100 unless told, 1000 at most"};
  query_parameter const token{"page_token", query_kind::text, "next_page_token of the page before"};
  to.push_back({"GET",
                "/api/v1/clusters/{cluster}/tasks",
                list_tasks,
                "listTasks",
                "Tasks and their health",
                200,
                "application/json",
                body_kind::none,
                {{"state", query_kind::text, "only tasks in this state"},
                 {"job", query_kind::text, "only tasks of this job"},
                 limit,
                 token}});
  to.push_back(
      {"GET", "/api/v1/clusters/{cluster}/tasks/{job}/{index}", get_task, "getTask", "One task"});
  to.push_back({"POST", "/api/v1/clusters/{cluster}/tasks/{job}/{index}/drain", drain_task,
                "drainTask", "No further closures for this task"});
}

}  // namespace muster::web
