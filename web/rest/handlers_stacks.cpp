// Where the ranks of a program are just now: their workers are asked, equal stacks stand together.
#include <map>
#include <tuple>

#include "server/core/programs/controller.hpp"
#include "web/rest/access.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

// Found by the members of their namespaces.
struct stacked_rank {
  std::uint32_t rank = 0;
  std::string task, worker, host;
  std::string process;
};
void members(member_list const& m, stacked_rank const& r) {
  m("rank", r.rank);
  m("task", r.task);
  m.some("worker", r.worker);
  m.some("host", r.host);
  m.some("process", r.process, "the kernel's word for it: S in futex_wait_queue");
}

struct stack_group {
  server::stack_state state{};
  std::string stack;
  std::vector<stacked_rank> ranks;
};
void members(member_list const& m, stack_group const& g) {
  m("state", g.state);
  m.some("stack", g.stack,
         "of each of these ranks, as faulthandler writes it; those of processes that the first of "
         "them has started follow");
  m("ranks", g.ranks);
}

struct program_stacks {
  std::uint32_t attempt = 0;
  std::vector<stack_group> groups;
};
void members(member_list const& m, program_stacks const& s) {
  m("attempt", s.attempt);
  m("groups", s.groups, "of ranks with the same stack, the smallest first");
}

namespace {

// A worker waits for its ranks for 900 ms.
constexpr std::chrono::milliseconds stacks_wait{2000};

struct asked_stacks {
  std::uint64_t round = 0;
  std::uint32_t attempt = 0;
  std::vector<core::rank_view> ranks;  // that are alive
};

muster::result<asked_stacks> ask_for_stacks(server::hub& h, core::program_id id) {
  auto const& programs = h.state().programs();
  auto const p = programs.look(id);
  if (!p) return p.error();
  auto all = programs.ranks(id);
  if (!all) return all.error();
  asked_stacks asked{0, p->attempt, std::move(*all)};
  std::erase_if(asked.ranks, [](core::rank_view const& r) {
    return r.started == core::never || r.ended != core::never;
  });
  server::stacks_query q{0, id, p->attempt, {}};
  for (auto const& r : asked.ranks) q.ranks.push_back(r.rank);
  auto const worker = [&](std::uint32_t rank) {
    auto const stream = programs.worker_of({id, p->attempt, rank});
    return stream ? *stream : core::stream_id{};
  };
  auto const ask = [&h](core::stream_id stream, server::stacks_query const& one) {
    auto* const sink = h.sink_of(stream);
    if (sink) sink->on_stacks_query(one);
    return sink != nullptr;
  };
  asked.round = h.stacks().begin(q, worker, ask);
  return asked;
}

program_stacks grouped(asked_stacks const& asked, std::vector<server::rank_stack> stacks) {
  std::map<std::uint32_t, server::rank_stack> by_rank;
  for (auto& s : stacks) by_rank[s.rank] = std::move(s);
  // By the stack of the rank's own process: loaders of data and the like that it has started are
  // nearly always elsewhere.
  std::map<std::pair<server::stack_state, std::string>, stack_group> equal;
  for (auto const& r : asked.ranks) {
    auto& s = by_rank[r.rank];
    auto own = s.text.substr(0, s.text.find(server::started_by_rank));
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
    h.stacks().await(round, [slot] { slot->send(true); });
  });
  (void)co_await context.engine.call<bool>(std::move(until), stacks_wait, nullptr);
  auto end = [asked = *asked](server::hub& h) -> muster::result<program_stacks> {
    return grouped(asked, h.stacks().end(asked.round));
  };
  co_return co_await look(context, in_pool_of(id, std::move(end)));
}

coro::task<response> get_stacks(web_context& context, exchange& ex) {
  return with_id(ex, "program", server::parse_program,
                 [&context](core::program_id id) { return answer_stacks(context, id); });
}

}  // namespace

void add_stack_routes(std::vector<route>& to) {
  to.push_back(get("/api/v1/programs/{id}/stacks", get_stacks, "listStacks",
                   "In which line each rank is that is alive, within two seconds; no rank is "
                   "stopped for it")
                   .tells("ProgramStacks", schema_of<program_stacks>));
}

}  // namespace muster::web
