#include "base/text.hpp"
#include "server/core/api/listings.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "web/json/cluster_json.hpp"
#include "web/json/machine_json.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

using coordination::agent_health;
using coordination::agent_view;

// Agents that one engine step reads. A filter with few matches therefore returns short pages.
constexpr std::size_t agents_a_step = 10'000;

struct task_filter {
  std::string job, state;  // filters; if empty, all tasks match

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

struct tasks_at {
  std::vector<core::task_view> workers;
  std::vector<std::optional<machine>> machines;  // parallel to `workers`
  std::vector<agent_view> agents;
  core::time_point now, agents_now;
  std::string next;
};

// Workers are listed before agents. Page tokens that start with 't' count workers; page tokens that
// start with 'a' count agents.
void take_workers(server::hub& h, task_filter const& f, std::size_t after, std::size_t limit,
                  tasks_at& into) {
  core::task_filter filter;
  filter.job = f.job;
  filter.state = worker_state(f.state);
  if (!f.state.empty() && !filter.state) return;  // because workers never have this state
  auto page = h.state().workers().list(after, limit, filter);
  into.workers = std::move(page.items);
  for (auto const& t : into.workers) into.machines.push_back(machine_of(h.machines(), t, h.now()));
  if (page.next) into.next = page_token('t', *page.next);
}

void take_agents(engine_services& services, coordination::cluster_id c, task_filter const& f,
                 std::size_t after, std::size_t limit, tasks_at& into) {
  auto const& service = services.coordination.state().current(c);
  auto const size = services.coordination.state().spec(c).size();
  auto at = after;
  while (at < size && at - after < agents_a_step && into.agents.size() < limit) {
    auto rows = service.views().tasks(into.agents_now, at, limit);
    if (rows.empty()) return;
    for (auto& row : rows) {
      if (into.agents.size() == limit) break;
      ++at;
      if (f.takes(row)) into.agents.push_back(std::move(row));
    }
  }
  if (at < size) into.next = page_token('a', at);
}

tasks_at collect(engine_services& services, coordination::cluster_id c, task_filter const& f,
                 std::pair<char, std::uint64_t> from, std::size_t limit) {
  tasks_at t;
  t.now = services.pools.main().now();
  t.agents_now = services.coordination.now();
  auto after = static_cast<std::size_t>(from.second);
  if (from.first == 't') {
    if (auto* const h = services.pools.existing(c)) take_workers(*h, f, after, limit, t);
    if (!t.next.empty()) return t;
    after = 0;
  }
  auto const left = limit - t.workers.size();
  if (left > 0)
    take_agents(services, c, f, after, left, t);
  else if (services.coordination.state().spec(c).size() > 0)
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
  auto work =
      in_cluster(ex, [filter, from, limit](engine_services& services, coordination::cluster_id c) {
        return collect(services, c, filter, from, limit);
      });
  return respond_with(context, std::move(work), [](tasks_at const& tasks) {
    return page_response("tasks", tasks.next, [&tasks](json_out& out) {
      for (std::size_t i = 0; i < tasks.workers.size(); ++i)
        write(out, tasks.workers[i], tasks.now, tasks.machines[i]);
      for (auto const& a : tasks.agents) write(out, a, tasks.agents_now);
    });
  });
}

enum class task_kind { any, worker, agent };

muster::status no_task(engine_services& services, coordination::cluster_id c,
                       core::lane_key const& at) {
  return {muster::code::not_found, "there is no task " + at.first + ":" +
                                       std::to_string(at.second) + " in cluster '" +
                                       services.coordination.state().spec(c).name + "'"};
}

// If an agent and a worker have the same name, a declared agent takes precedence unless `kind`
// selects the worker.
muster::result<std::string> task_text(engine_services& services, coordination::cluster_id c,
                                      core::lane_key const& at, task_kind kind) {
  auto const agent = services.coordination.state().spec(c).find(at.first, at.second);
  if (agent != coordination::no_task && kind != task_kind::worker) {
    auto const now = services.coordination.now();
    auto const rows = services.coordination.state().current(c).views().tasks(now, agent, 1);
    if (!rows.empty()) return to_text(rows.front(), now);
  }
  auto* const h = services.pools.existing(c);
  if (!h || kind == task_kind::agent) return no_task(services, c, at);
  auto const t = h->state().workers().find(at.first, at.second);
  if (!t) return t.error();
  return to_text(*t, h->now(), machine_of(h->machines(), *t, h->now()));
}

coro::task<response> get_task(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const asked = query.text("kind");
  auto const kind = equal_ignoring_case(asked, "worker")  ? task_kind::worker
                    : equal_ignoring_case(asked, "agent") ? task_kind::agent
                                                          : task_kind::any;
  return with_task(ex, [&](core::lane_key const& at) {
    auto work = [at, kind](engine_services& services, coordination::cluster_id c) {
      return task_text(services, c, at, kind);
    };
    return respond_with(context, in_cluster(ex, std::move(work)), as_raw_json());
  });
}

template <class Event>
coro::task<response> command(web_context& context, exchange& ex, Event e) {
  return with_task(ex, [&](core::lane_key const& at) {
    e.job = at.first;
    e.index = at.second;
    auto work = [at, e](engine_services& services, coordination::cluster_id c, auto const& slot) {
      auto* const h = services.pools.existing(c);
      if (!h) return slot->send(no_task(services, c, at));
      h->ask(Event(e), [&services, slot, c, at](core::reply const& r) {
        r.status.ok() ? slot->send(task_text(services, c, at, task_kind::worker))
                      : slot->send(r.status);
      });
    };
    return ask<std::string>(context, asking_cluster<std::string>(ex, std::move(work)),
                            as_raw_json());
  });
}

coro::task<response> report_task_error(web_context& context, exchange& ex) {
  return with_task(ex, [&](core::lane_key const& at) -> coro::task<response> {
    json_check check;
    auto r = read_task_error(check, json_ref(ex.req.body));
    if (check.failed()) return refused(check.failure());
    auto work = [at, r = std::move(r)](engine_services& services, coordination::cluster_id c,
                                       auto const& slot) {
      auto e = r;
      e.task.index = services.coordination.state().spec(c).find(at.first, at.second);
      if (e.task.index == coordination::no_task) return slot->send(no_task(services, c, at));
      ask_cluster<std::string>(services, c, std::move(e), slot,
                               [&services, c, at](coordination::reply&) {
                                 return task_text(services, c, at, task_kind::agent);
                               });
    };
    return ask<std::string>(context, asking_cluster<std::string>(ex, std::move(work)),
                            as_raw_json());
  });
}

coro::task<response> drain_task(web_context& context, exchange& ex) {
  return command(context, ex, core::drain_task{});
}
coro::task<response> cordon_task(web_context& context, exchange& ex) {
  return command(context, ex, core::cordon_task{{}, {}, 0, true});
}
coro::task<response> uncordon_task(web_context& context, exchange& ex) {
  return command(context, ex, core::cordon_task{{}, {}, 0, false});
}

constexpr std::size_t held_work_max = 200;

void held_members(member_list const& m, core::worker_contents::held const& c) {
  m("id", c.id);
  m.some("job", c.job);
  m("index", c.index);
  m("function", c.function);
  m("since_ms", c.since);
}

void hands_members(member_list const& m, core::worker_contents const& hands) {
  m.list("running", hands.running, held_members);
  m.list("sent_ahead", hands.prefetched, held_members);
  m("more", hands.more, "number of closures beyond the 200 in each list");
}

coro::task<response> get_worker_closures(web_context& context, exchange& ex) {
  return with_task(ex, [&](core::lane_key const& at) {
    auto work = [at](engine_services& services,
                     coordination::cluster_id c) -> muster::result<core::worker_contents> {
      auto* const h = services.pools.existing(c);
      if (h) return h->state().workers().closures_held_by(at.first, at.second, held_work_max);
      return muster::status{muster::code::not_found,
                            "there is no worker " + at.first + ":" + std::to_string(at.second)};
    };
    return respond_with(context, in_cluster(ex, std::move(work)), as_members<hands_members>);
  });
}

}  // namespace

void add_task_routes(std::vector<route>& to) {
  static constexpr auto states = all_names<core::coordination::agent_health>();
  static constexpr std::string_view kinds[] = {"worker", "agent"};
  to.push_back(get("/api/v1/clusters/{cluster}/tasks", list_tasks, "listTasks",
                   "List tasks and their health: closure workers, then agents")
                   .with({choice_parameter("state", states, "only tasks in this state"),
                          {"job", query_kind::text, "only tasks with this role"},
                          limit_parameter,
                          page_token_parameter("ta")})
                   .responds_with("TaskPage", [] { return page_schema("tasks", "TaskView"); }));
  to.push_back(
      get("/api/v1/clusters/{cluster}/tasks/{job}/{index}", get_task, "getTask", "Get a task")
          .with({choice_parameter(
              "kind", kinds,
              "kind of task, if both a worker and an agent have this name; default agent")})
          .responds_with("TaskView", [] {
            return schema::any_of({schema::ref("WorkerView"), schema::ref("AgentView")});
          }));
  to.push_back(
      post("/api/v1/clusters/{cluster}/tasks/{job}/{index}/drain", drain_task, "drainTask",
           "Drain a task: stop sending closures to it")
          .responds_with("WorkerView",
                         schema_of<core::task_view, core::time_point, std::optional<machine>>)
          .also(409, "The task is not connected"));
  to.push_back(post("/api/v1/clusters/{cluster}/tasks/{job}/{index}/error", report_task_error,
                    "reportTaskError", "Report an error in an agent's task to the other tasks")
                   .takes(body_kind::json, "TaskError", R"({"message":"the disk is full"})")
                   .responds_with("AgentView")
                   .also(409, "The task is not connected or already has an error")
                   .also(422, "The reason is too long"));
  to.push_back(post("/api/v1/clusters/{cluster}/tasks/{job}/{index}/cordon", cordon_task,
                    "cordonTask",
                    "Cordon a task: assign no new work to it, even after its worker is replaced")
                   .responds_with("WorkerView"));
  to.push_back(post("/api/v1/clusters/{cluster}/tasks/{job}/{index}/uncordon", uncordon_task,
                    "uncordonTask", "Uncordon a task")
                   .responds_with("WorkerView"));
  to.push_back(get("/api/v1/clusters/{cluster}/tasks/{job}/{index}/closures", get_worker_closures,
                   "listWorkerClosures",
                   "List the closures that a worker is running or has prefetched")
                   .responds_with("WorkerClosures", schema_of_members<hands_members>));
}

}  // namespace muster::web
