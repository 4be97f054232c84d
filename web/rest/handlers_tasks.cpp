// The tasks of a cluster: closure workers and agents in one listing; look at one, drain a worker.
#include <array>

#include "base/text.hpp"
#include "web/http/query.hpp"
#include "web/json/cluster_json.hpp"
#include "web/json/views_json.hpp"
#include "web/rest/cluster_access.hpp"
#include "web/rest/handlers.hpp"

namespace muster::web {

namespace {

using coordination::agent_health;
using coordination::agent_view;

// Agents that one step of the engine looks at; a filter that finds little gets short pages.
constexpr std::size_t agents_a_step = 10'000;

struct task_filter {
  std::string job, state;  // empty: any

  bool takes(agent_view const& a) const {
    return (job.empty() || job == a.job) &&
           (state.empty() || equal_ignoring_case(state, coordination::name(a.health)));
  }
};

std::optional<core::task_state> worker_state(std::string_view text) {
  using enum core::task_state;
  for (auto const s : {connected, late, error, disconnected})
    if (equal_ignoring_case(text, core::name(s))) return s;
  return {};
}

bool is_state(std::string_view text) {
  using enum agent_health;
  for (auto const h : {missing, registering, connected, late, error, disconnected})
    if (equal_ignoring_case(text, coordination::name(h))) return true;
  return worker_state(text).has_value();
}

struct tasks_at {
  std::vector<core::task_view> workers;
  std::vector<agent_view> agents;
  core::time_point now, agents_now;
  std::string next;  // page token
};

// Workers come first: kind 't' of the page token counts their rows, 'a' the agents.
void take_workers(engine_room& room, task_filter const& f, std::size_t after, std::size_t limit,
                  tasks_at& into) {
  core::coordinator::task_filter filter;
  filter.job = f.job;
  filter.state = worker_state(f.state);
  if (!f.state.empty() && !filter.state) return;  // no worker is ever in that state
  auto page = room.hub.state().tasks(after, limit, filter);
  into.workers = std::move(page.items);
  if (page.next) into.next = page_token('t', *page.next);
}

void take_agents(engine_room& room, coordination::cluster_id c, task_filter const& f,
                 std::size_t after, std::size_t limit, tasks_at& into) {
  auto const& service = room.coordination.state().current(c);
  auto const size = room.coordination.state().spec(c).size();
  auto at = after;
  while (at < size && at - after < agents_a_step && into.agents.size() < limit) {
    auto rows = service.tasks(into.agents_now, at, limit);
    if (rows.empty()) return;
    for (auto& row : rows) {
      if (into.agents.size() == limit) break;
      ++at;
      if (f.takes(row)) into.agents.push_back(std::move(row));
    }
  }
  if (at < size) into.next = page_token('a', at);
}

muster::result<tasks_at> collect(engine_room& room, std::string const& cluster,
                                 task_filter const& f, std::pair<char, std::uint64_t> from,
                                 std::size_t limit) {
  auto const c = find_cluster(room, cluster);
  if (!c) return c.error();
  tasks_at t;
  t.now = room.hub.now();
  t.agents_now = room.coordination.now();
  auto after = static_cast<std::size_t>(from.second);
  if (from.first == 't') {
    if (*c == room.doors.main()) take_workers(room, f, after, limit, t);
    if (!t.next.empty()) return t;
    after = 0;
  }
  auto const left = limit - t.workers.size();
  if (left > 0)
    take_agents(room, *c, f, after, left, t);
  else if (room.coordination.state().spec(*c).size() > 0)
    t.next = page_token('a', std::uint64_t{0});
  return t;
}

coro::task<response> list_tasks(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const from = query.page_token("ta");
  task_filter filter;
  filter.job = query.text("job");
  filter.state = query.text("state");
  if (!filter.state.empty() && !is_state(filter.state))
    query.fail("state",
               "expected MISSING, REGISTERING, CONNECTED, LATE, ERROR or DISCONNECTED, got '" +
                   filter.state + "'");
  if (query.failed()) co_return problem_response(query.failure());

  auto work = [cluster = std::string(ex.req.capture("cluster")), filter, from,
               limit](engine_room& room) { return collect(room, cluster, filter, from, limit); };
  auto asking = context.engine.on_engine(std::move(work));
  auto const tasks = co_await std::move(asking);
  if (!tasks) co_return problem_response(tasks.error());
  std::string text;
  json_out out(text);
  out.begin_object().key("tasks").begin_array();
  for (auto const& t : tasks->workers) write(out, t, tasks->now);
  for (auto const& a : tasks->agents) write(out, a, tasks->agents_now);
  out.end_array();
  if (!tasks->next.empty()) out.key("next_page_token").string(tasks->next);
  out.end_object();
  text += '\n';
  co_return json_response(std::move(text));
}

enum class task_kind { any, worker, agent };

muster::status no_task(std::string const& cluster, std::string const& job, std::int64_t index) {
  return {muster::code::not_found,
          "no task " + job + ":" + std::to_string(index) + " in cluster '" + cluster + "'"};
}

// The row's JSON. A declared agent hides a worker of the same name unless `kind` asks for that.
muster::result<std::string> task_text(engine_room& room, std::string const& cluster,
                                      std::string const& job, std::int64_t index, task_kind kind) {
  auto const c = find_cluster(room, cluster);
  if (!c) return c.error();
  auto const& spec = room.coordination.state().spec(*c);
  auto const agent = spec.find(job, index);
  if (agent != coordination::no_task && kind != task_kind::worker) {
    auto const now = room.coordination.now();
    auto const rows = room.coordination.state().current(*c).tasks(now, agent, 1);
    if (!rows.empty()) return to_text(rows.front(), now);
  }
  if (*c != room.doors.main() || kind == task_kind::agent)
    return no_task(room.coordination.state().spec(*c).name, job, index);
  auto const t = room.hub.state().task(job, index);
  if (!t) return t.error();
  return to_text(*t, room.hub.now());
}

std::optional<std::int64_t> task_index_of(request const& r) {
  auto const index = parse_number(r.capture("index"));
  if (!index || *index > INT64_MAX) return {};
  return static_cast<std::int64_t>(*index);
}

coro::task<response> get_task(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const asked = query.text("kind");
  auto const kind = asked == "worker"  ? task_kind::worker
                    : asked == "agent" ? task_kind::agent
                                       : task_kind::any;
  if (!asked.empty() && kind == task_kind::any)
    query.fail("kind", "expected worker or agent, got '" + std::string(asked) + "'");
  if (query.failed()) co_return problem_response(query.failure());
  auto const index = task_index_of(ex.req);
  if (!index) co_return problem_response(unknown_id("task", ex.req.capture("index")));
  auto work = [cluster = std::string(ex.req.capture("cluster")),
               job = std::string(ex.req.capture("job")), index = *index,
               kind](engine_room& room) { return task_text(room, cluster, job, index, kind); };
  auto asking = context.engine.on_engine(std::move(work));
  auto t = co_await std::move(asking);
  if (!t) co_return problem_response(t.error());
  co_return json_response(std::move(*t));
}

coro::task<response> drain_task(web_context& context, exchange& ex) {
  auto const index = task_index_of(ex.req);
  if (!index) co_return problem_response(unknown_id("task", ex.req.capture("index")));
  using result = muster::result<std::string>;
  auto work = [cluster = std::string(ex.req.capture("cluster")),
               job = std::string(ex.req.capture("job")),
               index = *index](engine_room& room, answer_handle<result> const& slot) {
    auto const c = find_cluster(room, cluster);
    if (!c) return slot->send(c.error());
    if (*c != room.doors.main())
      return slot->send(no_task(room.coordination.state().spec(*c).name, job, index));
    core::drain_task e;
    e.job = job;
    e.index = index;
    room.hub.ask(std::move(e), [&room, slot, cluster, job, index](core::reply const& r) {
      r.status.ok() ? slot->send(task_text(room, cluster, job, index, task_kind::worker))
                    : slot->send(r.status);
    });
  };
  auto asking =
      context.engine.call<result>(std::move(work), context.options.timeouts.engine, nullptr);
  auto t = co_await std::move(asking);
  if (!t) co_return problem_response(t.error());
  co_return json_response(std::move(*t));
}

}  // namespace

void add_task_routes(std::vector<route>& to) {
  to.push_back({"GET",
                "/api/v1/clusters/{cluster}/tasks",
                list_tasks,
                "listTasks",
                "Tasks and their health: closure workers, then agents",
                200,
                "application/json",
                body_kind::none,
                {{"state", query_kind::text, "only tasks in this state"},
                 {"job", query_kind::text, "only tasks of this job"},
                 limit_parameter,
                 page_token_parameter}});
  to.push_back({"GET",
                "/api/v1/clusters/{cluster}/tasks/{job}/{index}",
                get_task,
                "getTask",
                "One task",
                200,
                "application/json",
                body_kind::none,
                {{"kind", query_kind::text,
                  "worker or agent, where both have this name; the agent unless told"}}});
  to.push_back({"POST", "/api/v1/clusters/{cluster}/tasks/{job}/{index}/drain", drain_task,
                "drainTask", "No further closures for this task"});
}

}  // namespace muster::web
