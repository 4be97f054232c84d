#include "server/history/activity/activity_pages.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "server/core/queries/worker_queries.hpp"

namespace muster::history {

namespace {

constexpr std::size_t spans_a_look = 20'000;
constexpr std::size_t minute_lanes_a_look = 200;
constexpr std::size_t running_lanes_a_look = 2'000;

template <class Rows>
void name_functions(history const& h, Rows const& rows, activity_names& into) {
  std::set<function_id> seen;
  for (auto const& r : rows)
    if (r.function != several_functions) seen.insert(r.function);
  for (auto const f : seen) into.functions.emplace_back(f, h.named()[f].name);
}

void add_running(std::map<std::pair<std::uint32_t, time_point>, minute_view>& all,
                 std::uint32_t lane, running_view const& r, activity_filter const& f,
                 time_point now) {
  constexpr auto minute = std::chrono::minutes(1);
  auto at = std::max(r.started, now - activity_log::kept_for);
  while (at < now) {
    auto const begin = std::chrono::floor<std::chrono::minutes>(at);
    auto const until = std::min(now, time_point(begin + minute));
    if (begin <= f.to && begin + minute > f.from) {
      auto const [known, fresh] = all.try_emplace({lane, begin});
      auto& m = known->second;
      m.function = fresh || m.function == r.function ? r.function : several_functions;
      m.lane = lane;
      m.begin = begin;
      m.busy += until - at;
    }
    at = until;
  }
}

std::vector<running_view> running_on(history const& h, coordinator const& core, lane_view const& l,
                                     session_id of) {
  auto all = core.workers().running_on(l.job, l.index, of);
  for (auto& r : all) {
    r.lane = l.lane;
    r.function = h.named().of(r.function);
  }
  return all;
}

}  // namespace

span_page spans(history const& h, activity_filter const& f, std::uint64_t from, std::size_t limit,
                time_point now) {
  auto page = h.activity().spans(f, from, {limit, spans_a_look}, now);
  name_functions(h, page.spans, page.names);
  return page;
}

minute_page minutes(history const& h, coordinator const& core, activity_filter const& f,
                    std::optional<lane_key> const& after, time_point now) {
  auto page = h.activity().minutes(f, after, minute_lanes_a_look);
  std::map<std::pair<std::uint32_t, time_point>, minute_view> all;
  for (auto const& m : page.minutes) all[{m.lane, m.begin}] = m;
  for (auto const& l : page.names.lanes)
    for (auto const& r : running_on(h, core, l, {})) add_running(all, l.lane, r, f, now);
  page.minutes.clear();
  std::set<std::uint32_t> shown;
  for (auto const& [key, m] : all) {
    page.minutes.push_back(m);
    shown.insert(m.lane);
  }
  std::erase_if(page.names.lanes, [&](lane_view const& l) { return !shown.contains(l.lane); });
  name_functions(h, page.minutes, page.names);
  return page;
}

running_page running(history const& h, coordinator const& core, activity_filter const& f,
                     std::optional<lane_key> const& after) {
  running_page page;
  auto at = after;
  std::size_t left = running_lanes_a_look;
  h.activity().for_each_open(f.lanes, after, [&](lane_view const& l) {
    if (left-- == 0) {
      page.next = at;
      return false;
    }
    at = {l.job, l.index};
    auto const mine = running_on(h, core, l, f.job);
    page.running.insert(page.running.end(), mine.begin(), mine.end());
    if (!mine.empty()) page.names.lanes.push_back(l);
    return true;
  });
  name_functions(h, page.running, page.names);
  return page;
}

}  // namespace muster::history
