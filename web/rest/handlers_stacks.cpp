#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "server/core/api/listings.hpp"
#include "server/core/programs/controller.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "server/hub/task_stack.hpp"
#include "web/json/attempt_json.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

// Declared here so that argument-dependent lookup finds members().
struct program_stacks {
  std::uint32_t attempt = 0;
  std::vector<stack_group> groups;
};
void members(member_list const& m, program_stacks const& s) {
  m("attempt", s.attempt);
  m("groups", s.groups, "groups of ranks with the same stack, smallest first");
}

namespace {

// Exceeds the 900 ms for which a worker waits for its ranks.
constexpr std::chrono::milliseconds stacks_wait{2000};

struct stack_request {
  std::uint64_t round = 0;
  std::uint32_t attempt = 0;
  std::vector<core::rank_view> ranks;  // live ranks only
};

muster::result<stack_request> ask_for_stacks(server::hub& h, core::program_id id) {
  auto const& programs = h.state().programs();
  auto const p = programs.find(id);
  if (!p) return p.error();
  auto all = programs.ranks(id);
  if (!all) return all.error();
  stack_request asked{0, p->attempt, std::move(*all)};
  std::erase_if(asked.ranks, [](core::rank_view const& r) {
    return r.started == core::never || r.ended != core::never;
  });
  server::stacks_query q{0, id, p->attempt, {}};
  for (auto const& r : asked.ranks) q.ranks.push_back(r.rank);
  asked.round = h.workers().begin_stacks(q);
  return asked;
}

program_stacks grouped(stack_request const& asked, std::vector<server::rank_stack> stacks) {
  std::map<std::uint32_t, server::rank_stack> by_rank;
  for (auto& s : stacks) by_rank[s.rank] = std::move(s);
  // Compares only the stacks of the rank processes, because data loaders and other helper processes
  // nearly always differ.
  std::map<std::pair<server::stack_state, std::string>, stack_group> equal;
  for (auto const& r : asked.ranks) {
    auto& s = by_rank[r.rank];
    auto own = server::own_stack(s.text);
    auto& group = equal[{s.state, std::move(own)}];
    group.state = s.state;
    if (group.ranks.empty()) group.stack = std::move(s.text);
    group.ranks.push_back({r.rank, r.task, r.worker, r.host, std::move(s.process)});
  }
  program_stacks all{asked.attempt, {}};
  for (auto& [what, group] : equal) all.groups.push_back(std::move(group));
  std::stable_sort(all.groups.begin(), all.groups.end(),
                   [](auto const& a, auto const& b) { return a.ranks.size() < b.ranks.size(); });
  return all;
}

coro::task<response> answer_stacks(web_context& context, core::program_id id) {
  auto begin = in_pool_of(id, [id](server::hub& h) { return ask_for_stacks(h, id); });
  auto const asked = co_await context.engine.on_engine(std::move(begin));
  if (!asked) co_return problem_response(asked.error());
  auto const round = asked->round;
  auto until = in_pool_of(id, [round](server::hub& h, answer_handle<bool> const& slot) {
    h.workers().stacks().await(round, [slot] { slot->send(true); });
  });
  (void)co_await context.engine.call<bool>(std::move(until), stacks_wait, nullptr);
  auto end = [asked = *asked](server::hub& h) -> muster::result<program_stacks> {
    return grouped(asked, h.workers().stacks().end(asked.round));
  };
  co_return co_await respond_with(context, in_pool_of(id, std::move(end)));
}

coro::task<response> get_stacks(web_context& context, exchange& ex) {
  return with_id(ex, "program", server::parse_program,
                 [&context](core::program_id id) { return answer_stacks(context, id); });
}

// Exceeds the 900 ms for which a worker waits for its process.
constexpr std::chrono::milliseconds stack_wait{2000};
constexpr std::size_t closures_max = 200;

struct worker_stack {
  std::string worker;
  server::task_stack stack;
  core::worker_contents hands;
};

void closure_members(member_list const& m, core::worker_contents::held const& c) {
  m("id", c.id);
  m.some("job", c.job);
  m("function", c.function);
  m("since_ms", c.since);
}

void stack_members(member_list const& m, worker_stack const& s) {
  m("worker", s.worker);
  m("state", s.stack.state);
  m.some("stack", s.stack.text,
         "stacks of all threads of the process that runs closures and objects, in faulthandler "
         "format");
  m.some("process", s.stack.process, "kernel state of the process, such as S in futex_wait_queue");
  m.some("pid", s.stack.pid);
  m.list("closures", s.hands.running, closure_members,
         "closures that are running on this worker, at most 200");
}

// Once the request has started, only the engine thread uses this object.
struct asked {
  worker_stack found;
  muster::status error{};
  bool over = false;
  std::function<void()> told{};
  std::uint64_t question = 0;
};
// Returns null if the hub no longer exists.
using find_hub = std::function<server::hub*(engine_services&)>;
using find_worker = std::function<muster::result<core::lane_key>(server::hub*)>;

// Reads the running closures before the stack is sampled, so that they were running at that time.
muster::result<std::shared_ptr<asked>> begin(server::hub& h, core::lane_key const& at) {
  auto a = std::make_shared<asked>();
  a->found.worker = at.first + ":" + std::to_string(at.second);
  auto hands = h.state().workers().closures_held_by(at.first, at.second, closures_max);
  if (!hands) return hands.error();
  a->found.hands = std::move(*hands);
  a->found.stack.state = core::stack_state::no_answer;  // older workers never reply
  a->question =
      h.workers().read_stack(a->found.worker, [a](muster::result<server::task_stack> stack) {
        a->over = true;
        if (stack)
          a->found.stack = std::move(*stack);
        else
          a->error = stack.error();
        if (a->told) std::exchange(a->told, {})();
      });
  return a;
}

coro::task<response> answer_stack(web_context& context, find_hub find, find_worker worker) {
  auto ask = [find, worker](engine_services& s) -> muster::result<std::shared_ptr<asked>> {
    auto* const h = find(s);
    auto const at = worker(h);
    if (!at) return at.error();
    return begin(*h, *at);
  };
  auto const begun = co_await context.engine.on_engine(std::move(ask));
  if (!begun) co_return problem_response(to_problem(begun.error()));
  auto const a = *begun;
  auto until = [a](engine_services&, answer_handle<bool> const& slot) {
    if (a->over) return slot->send(true);
    a->told = [slot] { slot->send(true); };
  };
  (void)co_await context.engine.call<bool>(std::move(until), stack_wait, nullptr);
  auto end = [a, find](engine_services& s) -> muster::result<worker_stack> {
    a->told = {};
    if (auto* const h = find(s)) h->workers().task_stacks().forget(a->question);
    if (!a->error.ok()) return a->error;
    return a->found;
  };
  co_return co_await respond_with(context, std::move(end), as_members<stack_members>);
}

coro::task<response> get_task_stacks(web_context& context, exchange& ex) {
  return with_task(ex, [&](core::lane_key const& at) {
    auto find = [name = std::string(ex.req.capture("cluster"))](engine_services& s) {
      auto const c = find_cluster(s, name);
      return c ? s.pools.existing(*c) : nullptr;
    };
    auto worker = [at](server::hub* h) -> muster::result<core::lane_key> {
      if (h) return at;
      return muster::status{muster::code::not_found,
                            "there is no worker " + at.first + ":" + std::to_string(at.second)};
    };
    return answer_stack(context, std::move(find), std::move(worker));
  });
}

muster::result<core::lane_key> runs_on(server::hub& h, core::closure_id id) {
  auto const view = h.state().closures().find(id);
  if (!view)
    return muster::status{muster::code::not_found, "there is no closure " + core::text(id)};
  if (view->state != core::closure_state::running || view->attempts.empty())
    return muster::status{
        muster::code::failed_precondition,
        core::text(id) + " is not running; its state is " + std::string(name(view->state))};
  auto const& on = view->attempts.back().worker;
  auto const colon = on.rfind(':');
  auto const index = parse_number(std::string_view(on).substr(colon + 1));
  return core::lane_key(on.substr(0, colon), static_cast<std::int64_t>(index.value_or(0)));
}

coro::task<response> get_closure_stacks(web_context& context, exchange& ex) {
  return with_id(ex, "closure", server::parse_closure, [&context](core::closure_id id) {
    auto find = [id](engine_services& s) { return &s.pools.of(id); };
    auto worker = [id](server::hub* h) { return runs_on(*h, id); };
    return answer_stack(context, std::move(find), std::move(worker));
  });
}

}  // namespace

void add_stack_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/programs/{id}/stacks", get_stacks, "listStacks",
          "Get the current stack of each live rank within two seconds, without stopping the ranks")
          .responds_with("ProgramStacks", schema_of<program_stacks>));
  to.push_back(get("/api/v1/clusters/{cluster}/tasks/{job}/{index}/stacks", get_task_stacks,
                   "listTaskStacks",
                   "Get the current stacks of the process that runs a worker's closures and "
                   "objects, within two seconds and without stopping it")
                   .responds_with("TaskStacks", schema_of_members<stack_members>)
                   .also(429, "The worker is already serving the maximum number of such requests"));
  to.push_back(get("/api/v1/closures/{id}/stacks", get_closure_stacks, "listClosureStacks",
                   "Get the current stacks of the worker process that runs this closure")
                   .responds_with("TaskStacks")
                   .also(409, "The closure is not running")
                   .also(429, "The worker is already serving the maximum number of such requests"));
}

}  // namespace muster::web
