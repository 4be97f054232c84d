#include <algorithm>
#include <map>
#include <set>

#include "server/history/activity/activity_log.hpp"

namespace muster::history {

span_view activity_log::view_of(span const& b) {
  span_view v;
  v.lane = b.lane;
  v.function = function_id{b.function};
  v.state = static_cast<span_state>(b.state);
  v.started = time_point(duration(static_cast<std::int64_t>(b.started)));
  v.lasted = duration(static_cast<std::int64_t>(std::uint64_t{b.lasted} << b.coarse));
  if (b.sum) {
    v.count = static_cast<std::uint32_t>(b.closure);
    v.failed = static_cast<std::uint32_t>(b.closure >> 32);
    v.busy = duration(b.job);
    if (v.failed > 0) v.state = span_state::failed;
  } else {
    v.busy = v.lasted;
    v.failed = v.state != span_state::succeeded;
    v.closure = closure_id{b.closure};
  }
  return v;
}

session_id activity_log::job_of(std::uint32_t low) const {
  constexpr std::uint64_t span = std::uint64_t{1} << 32;
  if (low == 0) return {};
  auto id = (wide_.last_session & ~(span - 1)) | low;
  if (id > wide_.last_session && id >= span) id -= span;
  return session_id{id};
}

span_page activity_log::spans(activity_filter const& f, std::uint64_t from, bounds most,
                              time_point now) const {
  span_page page;
  page.complete_since = complete_since_;
  page.all = complete_since_ == recorded_since_;
  std::set<std::uint32_t> only, named;
  for (auto const& key : f.lanes)
    if (auto const it = lanes_.find(key); it != lanes_.end()) only.insert(it->second.number);
  auto const end = settled(now);
  auto const job = static_cast<std::uint32_t>(raw(f.job));
  auto at = chunks_.empty() ? end : std::max(from, chunks_.front().first);
  if (only.empty() && !f.lanes.empty()) at = end;
  while (at < end && most.looks > 0 && page.spans.size() < most.limit) {
    auto const& c = chunks_[(at - chunks_.front().first) / spans_a_chunk];
    auto const until = std::min(end, c.first + c.used);
    if (c.end < f.from || c.begin > f.to) {
      at = until;
      --most.looks;
      continue;
    }
    for (; at < until && most.looks > 0 && page.spans.size() < most.limit; ++at, --most.looks) {
      auto const& b = c.spans[at - c.first];
      if (!only.empty() && !only.contains(b.lane)) continue;
      if (f.job != session_id{} && (b.sum || b.job != job)) continue;
      auto v = view_of(b);
      if (v.started > f.to || v.started + v.lasted < f.from) continue;
      if (!b.sum) v.job = job_of(b.job);
      named.insert(v.lane);
      page.spans.push_back(v);
    }
  }
  page.next = std::max(at, from);
  page.more = at < end;
  // Omits spans that have outlived their lane.
  for (auto const n : named)
    if (auto const it = by_number_.find(n); it != by_number_.end())
      page.names.lanes.push_back(view_of(*it->second));
  if (page.names.lanes.size() < named.size())
    std::erase_if(page.spans, [&](span_view const& v) { return !by_number_.contains(v.lane); });
  return page;
}

minute_page activity_log::minutes(activity_filter const& f, std::optional<lane_key> const& after,
                                  std::size_t lanes) const {
  minute_page page;
  std::map<lane const*, worker_sums const*> growing;  // sums that are not in a minute yet
  for (auto const& s : workers_)
    if (s.sum) growing.emplace(s.at, &s);
  std::optional<lane_key> at = after;
  for (auto it = behind(lanes_, f.lanes, at); it != lanes_.end();
       it = behind(lanes_, f.lanes, at)) {
    if (lanes-- == 0) {
      page.next = at;
      break;
    }
    at = it->first;
    auto const sum = growing.find(&it->second);
    auto mine = minutes_of(it->second, sum == growing.end() ? nullptr : sum->second);
    std::erase_if(mine, [&f](minute_view const& m) {
      return m.begin > f.to || m.begin + std::chrono::minutes(1) <= f.from;
    });
    page.names.lanes.push_back(view_of(*it));
    page.minutes.insert(page.minutes.end(), mine.begin(), mine.end());
  }
  return page;
}

std::vector<minute_view> activity_log::minutes_of(lane const& l, worker_sums const* growing) {
  std::map<std::uint32_t, minute_view> all;
  auto const of = [&](std::uint32_t number) -> minute_view& {
    auto& v = all[number];
    v.lane = l.number;
    v.begin = time_point(std::chrono::minutes(number));
    return v;
  };
  if (l.minutes)
    for (auto const& m : *l.minutes) {
      if (m.number == 0) continue;
      auto& v = of(m.number);
      v.function = function_id{m.function};
      v.count = m.count;
      v.failed = m.failed;
      v.busy = m.busy;
    }
  for (std::size_t i = 0; growing && i < growing->open; ++i) {
    auto const sum = view_of(*growing->sums[i]);
    auto const since = (growing->until - sum_span).time_since_epoch();
    auto& v = of(static_cast<std::uint32_t>(since / std::chrono::minutes(1)));
    bool const first = v.count == 0 && v.busy == duration{};
    v.function = first || v.function == sum.function ? sum.function : several_functions;
    v.count += sum.count;
    v.failed += sum.failed;
    v.busy += sum.busy;
  }
  std::vector<minute_view> out;
  for (auto const& [number, v] : all) out.push_back(v);
  return out;
}

}  // namespace muster::history
