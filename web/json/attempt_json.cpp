#include "web/json/attempt_json.hpp"

#include <algorithm>
#include <optional>

#include "server/core/api/attempt_record_fields.hpp"
#include "web/json/described_json.hpp"
#include "web/json/late_json.hpp"
#include "web/json/program_json.hpp"

namespace muster::web {
namespace {

template <class Part>
struct with_rank {
  Part of{};
  std::optional<std::uint32_t> rank{};
};

template <class Part>
std::vector<with_rank<Part>> with_ranks(attempt_detail const& a, std::vector<Part> const& parts,
                                        std::string Part::*task) {
  std::vector<with_rank<Part>> all;
  for (auto const& part : parts) {
    auto const it = a.ranks.find(part.*task);
    all.push_back({part, it == a.ranks.end() ? std::nullopt : std::optional(it->second)});
  }
  return all;
}

void event_members(member_list const& m, with_rank<core::attempt_record::event> const& one) {
  auto const& e = one.of;
  bool const of_worker =
      e.kind == core::attempt_event::worker_lost || e.kind == core::attempt_event::worker_back;
  m("at_ms", e.at);
  m("kind", e.kind);
  m.some("about", e.about, "a task of the program, or a worker of the cluster");
  m.when(one.rank && !of_worker)("rank", one.rank.value_or(0), "rank of the task in 'about'");
  m.some("text", e.text);
}

void meeting_members(member_list const& m, with_rank<core::attempt_record::meeting> const& one) {
  auto const& b = one.of;
  late_barrier_members(m, b.barrier, b);
  m.when(one.rank.has_value())("last_rank", one.rank.value_or(0), "rank of the task in 'last'");
  using arrival = core::attempt_record::meeting::arrival;
  m.when(!b.came.empty())
      .list(
          "ranks", b.came, [](arrival const& a) { return a.rank; },
          "ranks in order of arrival; missing if there are too many");
  m.when(!b.came.empty())
      .list(
          "came_us", b.came, [](arrival const& a) { return a.after_us; },
          "arrival time of each rank, relative to the first arrival");
}

void latecomer_members(member_list const& m,
                       with_rank<core::attempt_record::late_task> const& one) {
  late_task_members(m, one.of.task, one.of);
  m.when(one.rank.has_value())("rank", one.rank.value_or(0), "rank of this task");
}

void rank_members(member_list const& m, core::attempt_record::ended_rank const& r) {
  described_members(m, r);
}

// The list of ended ranks contains the task and host of each rank.
std::vector<stack_group> groups_of(core::attempt_record const& r) {
  std::vector<stack_group> all;
  for (auto const& s : r.stacks) {
    auto& group = all.emplace_back();
    group.state = s.state;
    group.stack = s.text;
    for (auto const rank : s.ranks) {
      auto& of = group.ranks.emplace_back();
      of.rank = rank;
      of.process = group.ranks.size() == 1 ? s.process : std::string();
      auto const known = std::find_if(r.ranks.begin(), r.ranks.end(),
                                      [rank](auto const& one) { return one.rank == rank; });
      if (known == r.ranks.end()) continue;
      of.task = known->task;
      of.host = known->host;
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](auto const& a, auto const& b) { return a.ranks.size() < b.ranks.size(); });
  return all;
}

}  // namespace

void members(member_list const& m, stacked_rank const& r) {
  m("rank", r.rank);
  m("task", r.task);
  m.some("worker", r.worker);
  m.some("host", r.host);
  m.some("process", r.process, "kernel state of the process, such as S in futex_wait_queue");
}

void members(member_list const& m, stack_group const& g) {
  m("state", g.state);
  m.some("stack", g.stack,
         "stack of each of these ranks in faulthandler format, followed by the stacks of processes "
         "that the first rank started");
  m("ranks", g.ranks);
}

void members(member_list const& m, attempt_detail const& a) {
  members(m, a.about);
  auto const& r = a.record;
  using record = core::attempt_record;
  m.list("events", with_ranks(a, r.events, &record::event::about), event_members,
         "failures reported by the coordination cluster, and lost workers");
  m.list("barriers", with_ranks(a, r.barriers, &record::meeting::last), meeting_members,
         "the most recent barriers at which all tasks arrived, newest first");
  m.list("latecomers", with_ranks(a, r.latecomers, &record::late_task::task), latecomer_members,
         "lateness of tasks at these and earlier barriers, most delayed task first");
  m("stacks", groups_of(r), "stacks of killed ranks, smallest group first");
  m.list("ended", r.ranks, rank_members,
         "ranks in the order in which they ended, with their last lines of output");
  m.some("events_left_out", r.events_left_out,
         "number of events that were omitted to limit the size");
  m.some("stacks_left_out", r.stacks_left_out,
         "number of ranks whose stacks were omitted to limit the size");
  m.some("ranks_left_out", r.ranks_left_out,
         "number of ranks that were omitted from 'ended' to limit the size");
}

}  // namespace muster::web
