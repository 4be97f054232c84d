// Views of what workers did and do.
#include <algorithm>
#include <map>
#include <set>

#include "server/core/coordinator_state.hpp"

namespace muster::core {

namespace {

constexpr std::size_t bars_a_look = 20'000;
constexpr std::size_t minute_lanes_a_look = 200;
constexpr std::size_t running_lanes_a_look = 2'000;

template <class Rows>
void name_functions(coordinator const& c, Rows const& rows, activity_names& names) {
  std::set<function_id> seen;
  for (auto const& r : rows)
    if (r.function != several_functions) seen.insert(r.function);
  for (auto const f : seen) names.functions.emplace_back(f, c.function_name(f));
}

// Adds what a closure that runs has taken of each minute.
void add_running(std::map<std::pair<std::uint32_t, time_point>, minute_view>& minutes,
                 std::uint32_t lane, closure_record const& r, activity_filter const& f,
                 time_point now) {
  constexpr auto minute = std::chrono::minutes(1);
  auto at = std::max(r.started, now - activity_log::kept_for);
  while (at < now) {
    auto const begin = std::chrono::floor<std::chrono::minutes>(at);
    auto const until = std::min(now, time_point(begin + minute));
    if (begin <= f.to && begin + minute > f.from) {
      auto const [known, fresh] = minutes.try_emplace({lane, begin});
      auto& m = known->second;
      m.function = fresh || m.function == r.function ? r.function : several_functions;
      m.lane = lane;
      m.begin = begin;
      m.busy += until - at;
    }
    at = until;
  }
}

}  // namespace

bar_page coordinator::bars(activity_filter const& f, std::uint64_t from, std::size_t limit,
                           time_point now) const {
  auto page = state_->activity.bars(f, from, {limit, bars_a_look}, now);
  name_functions(*this, page.bars, page.names);
  return page;
}

minute_page coordinator::minutes(activity_filter const& f, std::optional<lane_key> const& after,
                                 time_point now) const {
  auto const& st = *state_;
  auto page = st.activity.minutes(f, after, minute_lanes_a_look);
  std::map<std::pair<std::uint32_t, time_point>, minute_view> all;
  for (auto const& m : page.minutes) all[{m.lane, m.begin}] = m;
  for (auto const& l : page.names.lanes) {
    auto const* t = st.roster.tasks.find(l.job, l.index);
    if (!t || !t->worker) continue;
    auto const& held = st.scheduler.of(t->worker->number).running;
    for (slot c = held.front; c != no_slot; c = st.closures[c].next)
      add_running(all, l.lane, st.closures[c], f, now);
  }
  page.minutes.clear();
  std::set<std::uint32_t> shown;
  for (auto const& [key, m] : all) {
    page.minutes.push_back(m);
    shown.insert(m.lane);
  }
  std::erase_if(page.names.lanes, [&](lane_view const& l) { return !shown.contains(l.lane); });
  name_functions(*this, page.minutes, page.names);
  return page;
}

running_page coordinator::running(activity_filter const& f,
                                  std::optional<lane_key> const& after) const {
  auto const& st = *state_;
  auto const& rows = st.roster.tasks.rows();
  running_page page;
  auto at = after;
  std::size_t left = running_lanes_a_look;
  for (auto it = behind(rows, f.lanes, at); it != rows.end(); it = behind(rows, f.lanes, at)) {
    if (left-- == 0) {
      page.next = at;
      break;
    }
    at = it->first;
    auto const* w = it->second->worker;
    if (!w) continue;
    auto const lane = st.activity.lane_of(w->number);
    auto const before = page.running.size();
    auto const& held = st.scheduler.of(w->number).running;
    for (slot c = held.front; c != no_slot; c = st.closures[c].next) {
      auto const& r = st.closures[c];
      auto const job = st.sessions.of(r.owner).id;
      if (f.job != session_id{} && job != f.job) continue;
      page.running.push_back({lane.lane, r.function, r.started, st.closures.id_of(c), job});
    }
    if (page.running.size() > before) page.names.lanes.push_back(lane);
  }
  name_functions(*this, page.running, page.names);
  return page;
}

}  // namespace muster::core
