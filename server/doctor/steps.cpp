#include "server/doctor/steps.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace muster::doctor {
namespace {

using core::duration;
using core::time_point;

// Clocks drift, so the minimum delay of a host's reports is taken from the last one or two windows.
constexpr duration clock_window = std::chrono::seconds(30);
// Maximum error when arrival times on several hosts are compared.
constexpr duration blur_of_hosts = std::chrono::milliseconds(5);

duration median_of(std::vector<std::uint32_t>& all) {
  if (all.empty()) return {};
  auto const middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return duration(*middle);
}

std::uint32_t in_cell(duration d) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(d.count(), 1, std::numeric_limits<std::uint32_t>::max()));
}

duration took(std::vector<step_column> const& columns, std::uint32_t rank) {
  std::vector<std::uint32_t> all;
  for (auto it = columns.rbegin(); it != columns.rend() && all.size() < step_table::steps_timed;
       ++it)
    if (it->took[rank] != 0) all.push_back(it->took[rank]);
  return median_of(all);
}

step_span span_of(std::uint32_t rank, std::uint64_t before, step_report::mark const& m,
                  duration took, duration offset) {
  auto const count =
      std::min<std::uint64_t>(m.step - before, std::numeric_limits<std::uint32_t>::max());
  return {rank, static_cast<std::uint32_t>(count),      m.step, time_point(m.at + offset),
          took, took / static_cast<std::int64_t>(count)};
}

}  // namespace

std::size_t step_table::ranks() const {
  std::size_t all = 0;
  for (auto const& [id, p] : programs_) all += p.ranks.size();
  return all;
}

std::vector<std::pair<core::program_id, std::uint32_t>> step_table::attempts() const {
  std::vector<std::pair<core::program_id, std::uint32_t>> all;
  for (auto const& [id, p] : programs_) all.emplace_back(id, p.attempt);
  return all;
}

void step_table::make_room(core::program_id but, std::size_t for_ranks) {
  for (auto known = ranks(); known + for_ranks > ranks_max;) {
    auto oldest = programs_.end();
    for (auto it = programs_.begin(); it != programs_.end(); ++it)
      if (it->first != but &&
          (oldest == programs_.end() || it->second.heard < oldest->second.heard))
        oldest = it;
    if (oldest == programs_.end()) return;
    known -= oldest->second.ranks.size();
    forget(oldest->first);
  }
}

void step_table::forget(core::program_id program) {
  auto const it = programs_.find(program);
  if (it == programs_.end()) return;
  for (auto const& h : slow_hosts(it->second))
    if (slow_runs_.size() < hosts_of_runs_kept || slow_runs_.contains(h)) ++slow_runs_[h];
  programs_.erase(it);
}

std::set<std::string> step_table::slow_hosts(program const& p) {
  std::set<std::string> hosts;
  for (auto const& [host, attempts] : p.slow_before) hosts.insert(host);
  for (auto const& s : slow_of(p))
    if (s.chronic) hosts.insert(p.places[s.rank].host);
  return hosts;
}

std::map<std::string, std::uint32_t> step_table::slow_in_others(core::program_id than) const {
  auto all = slow_runs_;
  for (auto const& [id, p] : programs_) {
    if (id == than) continue;
    for (auto const& h : slow_hosts(p)) ++all[h];
  }
  return all;
}

void step_table::remember_hosts(program& p) {
  std::set<std::string> hosts;
  for (auto const& s : slow_of(p))
    if (s.chronic) hosts.insert(p.places[s.rank].host);
  for (auto const& h : hosts)
    if (p.slow_before.size() < hosts_kept || p.slow_before.contains(h)) ++p.slow_before[h];
}

step_table::program* step_table::attempt_of(time_point now, report const& what,
                                            places_function const& places) {
  auto it = programs_.find(what.program);
  if (it != programs_.end() && it->second.attempt > what.attempt) return nullptr;
  if (it == programs_.end() || it->second.attempt < what.attempt) {
    auto all = places();
    if (all.empty()) return nullptr;
    std::map<std::string, std::uint32_t> slow_before;
    if (it != programs_.end()) {
      remember_hosts(it->second);
      slow_before = std::move(it->second.slow_before);
      programs_.erase(it);
    }
    make_room(what.program, all.size());
    it = programs_.try_emplace(what.program).first;
    auto& p = it->second;
    p.attempt = what.attempt;
    p.slow_before = std::move(slow_before);
    p.ranks.resize(all.size());
    p.places = std::move(all);
    std::map<std::string, std::uint32_t> types;
    for (auto const& place : p.places)
      p.types.push_back(
          types.try_emplace(place.type, static_cast<std::uint32_t>(types.size())).first->second);
  }
  it->second.heard = now;
  return &it->second;
}

duration step_table::offset(clock& c, time_point now, duration sent) {
  auto const seen = now.time_since_epoch() - sent;
  if (!std::exchange(c.known, true)) {
    c = {seen, seen, now, true};
  } else if (now - c.since > clock_window) {
    c.before = std::exchange(c.now, seen);
    c.since = now;
  }
  c.now = std::min(c.now, seen);
  return std::min(c.now, c.before);
}

// Returns null if the step is older than the stored steps.
step_column* step_table::column_of(program& p, std::uint64_t step) {
  auto const at = std::lower_bound(p.columns.begin(), p.columns.end(), step,
                                   [](auto const& c, std::uint64_t s) { return c.step < s; });
  if (at != p.columns.end() && at->step == step) return &*at;
  bool const full = p.columns.size() >= steps_kept;
  if (full && at == p.columns.begin()) return nullptr;
  step_column made{step, {}, {}};
  if (full) {
    std::rotate(p.columns.begin(), p.columns.begin() + 1, at);
    auto& c = *(at - 1);
    std::fill(c.took.begin(), c.took.end(), 0);
    std::fill(c.at.begin(), c.at.end(), 0);
    c.step = step;
    return &c;
  }
  made.took.assign(p.ranks.size(), 0);
  made.at.assign(p.ranks.size(), 0);
  return &*p.columns.insert(at, std::move(made));
}

void step_table::take(program& p, step_report const& r, duration offset, time_point now,
                      std::vector<step_span>& told) {
  auto& known = p.ranks[r.rank];
  // The rank's step count has restarted.
  if (known.said && r.step < known.step) {
    p.columns.clear();
    known.said = false;
  }
  auto before = known;
  bool follows =
      known.said && (r.left_out == 0 || (!r.marks.empty() && r.marks.front().step <= known.step));
  for (auto const& m : r.marks) {
    if (known.said && m.step <= known.step) continue;
    if (before.said && m.step <= before.step) continue;
    auto* c = column_of(p, m.step);
    if (c) c->at[r.rank] = (m.at + offset).count();
    if (c && follows && m.at > before.at)
      c->took[r.rank] =
          in_cell((m.at - before.at) / static_cast<std::int64_t>(m.step - before.step));
    if (before.said && m.at > before.at)
      told.push_back(span_of(r.rank, before.step, m, m.at - before.at, offset));
    before = {m.step, m.at, {}, true, {}};
    follows = true;
  }
  auto const steps = static_cast<std::int64_t>(known.said ? r.step - known.step : 0);
  auto const pace = steps > 0 && r.at > known.at ? (r.at - known.at) / steps : duration{};
  known = {r.step, r.at, std::min(time_point(r.at + offset), now), true, pace};
}

std::vector<step_span> step_table::reported(time_point now, report const& what,
                                            places_function const& places) {
  std::vector<step_span> told;
  auto* const p = attempt_of(now, what, places);
  if (!p) return told;
  p->slow_known.reset();
  for (auto const& r : what.ranks) {
    if (r.rank >= p->ranks.size()) continue;
    auto& known = p->ranks[r.rank];
    if (known.said && r.step == known.step) continue;
    take(*p, r, offset(p->clocks[p->places[r.rank].host], now, what.sent), now, told);
  }
  return told;
}

step_table::program const* step_table::find(core::program_id id, std::uint32_t attempt) const {
  auto const it = programs_.find(id);
  return it != programs_.end() && it->second.attempt == attempt ? &it->second : nullptr;
}

std::optional<rank_progress> step_table::progress(core::program_id id, std::uint32_t attempt,
                                                  std::uint32_t rank) const {
  auto const* p = find(id, attempt);
  if (!p || rank >= p->ranks.size() || !p->ranks[rank].said) return {};
  return rank_progress{p->ranks[rank].step, p->ranks[rank].reached};
}

std::optional<rank_steps> step_table::find(core::program_id id, std::uint32_t attempt,
                                           std::uint32_t rank) const {
  auto const* p = find(id, attempt);
  if (!p || rank >= p->ranks.size() || !p->ranks[rank].said) return {};
  auto const& r = p->ranks[rank];
  auto const each = took(p->columns, rank);
  return rank_steps{r.step, r.reached, each > duration{} ? each : r.pace};
}

std::vector<slow_rank> const& step_table::slow_of(program const& p) {
  if (p.slow_known) return *p.slow_known;
  auto& all = p.slow_known.emplace(left_behind(p));
  for (auto& s : slow_ranks(p.columns, p.types, p.clocks.size() > 1 ? blur_of_hosts : duration{}))
    if (std::none_of(all.begin(), all.end(), [&](auto const& l) { return l.rank == s.rank; }))
      all.push_back(std::move(s));
  return all;
}

// Returns ranks that are so far behind that none of their steps is stored, slowest first. Such
// ranks are compared by pace.
std::vector<slow_rank> step_table::left_behind(program const& p) {
  std::vector<slow_rank> all;
  if (p.columns.size() < steps_kept) return all;
  std::map<std::uint32_t, std::vector<std::uint32_t>> paces;
  for (std::size_t k = 0; k < p.ranks.size(); ++k)
    if (p.ranks[k].pace > duration{}) paces[p.types[k]].push_back(in_cell(p.ranks[k].pace));
  for (std::uint32_t i = 0; i < p.ranks.size(); ++i) {
    auto const& r = p.ranks[i];
    if (!r.said || r.step >= p.columns.front().step || r.pace == duration{}) continue;
    auto& like = paces[p.types[i]];
    if (like.size() < peers_min) continue;
    auto const usual = median_of(like);
    auto const behind =
        static_cast<double>((r.pace - usual).count()) / static_cast<double>(usual.count());
    if (behind < behind_min) continue;
    all.push_back({.rank = i,
                   .chronic = true,
                   .permille = static_cast<std::uint32_t>(std::min(behind * 1000, 1e9))});
  }
  std::sort(all.begin(), all.end(),
            [](auto const& a, auto const& b) { return b.permille < a.permille; });
  return all;
}

std::optional<program_steps> step_table::whole(core::program_id id, std::uint32_t attempt,
                                               bool slow_ones) const {
  auto const* p = find(id, attempt);
  if (!p) return {};
  program_steps all;
  std::vector<std::uint32_t> times;
  for (std::uint32_t i = 0; i < p->ranks.size(); ++i) {
    auto const& r = p->ranks[i];
    if (!r.said) continue;
    all.least = all.ranks == 0 ? r.step : std::min(all.least, r.step);
    all.most = std::max(all.most, r.step);
    ++all.ranks;
    if (auto const t = took(p->columns, i); t > duration{}) times.push_back(in_cell(t));
  }
  if (all.ranks == 0) return {};
  all.took = median_of(times);
  if (!slow_ones || slow_of(*p).empty()) return all;
  auto const others = slow_in_others(id);
  for (auto const& s : slow_of(*p)) {
    if (all.slow_ones.size() >= slow_shown) break;
    auto const& at = p->places[s.rank];
    auto const before = p->slow_before.find(at.host);
    auto const now = static_cast<std::uint32_t>(s.chronic);
    auto const attempts = (before == p->slow_before.end() ? 0 : before->second) + now;
    auto const elsewhere = others.find(at.host);
    auto const runs = (elsewhere == others.end() ? 0 : elsewhere->second) +
                      static_cast<std::uint32_t>(attempts > 0);
    all.slow_ones.push_back({s, at.host, at.worker, attempts, runs});
  }
  return all;
}

}  // namespace muster::doctor
