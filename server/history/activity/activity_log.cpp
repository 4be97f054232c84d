#include "server/history/activity/activity_log.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"

namespace muster::history {

namespace {

constexpr auto minute_long = std::chrono::minutes(1);

time_point end_of_span(time_point t) {
  auto const since = t.time_since_epoch();
  return time_point((since / activity_log::sum_span + 1) * activity_log::sum_span);
}

std::uint32_t minute_number(time_point t) {
  return static_cast<std::uint32_t>(t.time_since_epoch() / minute_long);
}

}  // namespace

activity_log::~activity_log() {
  wide_.activity_chunks -= static_cast<std::uint32_t>(chunks_.size());
}

// A worker number that appears twice in a step belongs to one task whose worker was replaced.
void activity_log::fold(changes const& c, names const& named, time_point now) {
  bool came = false;  // rarely true
  for (auto const& w : c.workers) {
    if (!w.here) continue;
    came = true;
    if (is_open(w.worker)) close(w.worker, now);
    open(w.worker, w.job, w.index, now, w.slots);
  }
  for (auto const& e : c.ended)
    if (e.worker != worker_number{})
      add_short(e.worker, named.of(e.of.function), e.of.started, e.of.finished,
                e.of.as != closure_state::succeeded);
  for (auto const& a : c.attempts) {
    auto const state = a.how == attempt_end::succeeded   ? span_state::succeeded
                       : a.how == attempt_end::failed    ? span_state::failed
                       : a.how == attempt_end::cancelled ? span_state::cancelled
                                                         : span_state::lost;
    add(a.worker, {a.closure, a.session, named.of(a.function), state, a.started, a.ended});
  }
  for (auto w = c.workers.begin(); w != c.workers.end(); ++w) {
    auto const again = [&](auto const& later) { return later.here && later.worker == w->worker; };
    if (!w->here && !(came && std::any_of(w, c.workers.end(), again))) close(w->worker, now);
  }
}

void activity_log::open(worker_number w, std::string const& job, std::int64_t index, time_point now,
                        std::uint32_t slots) {
  if (raw(w) >= workers_.size()) workers_.resize(raw(w) + std::size_t{1});
  auto& s = workers_[raw(w)];
  check(!s.at, "a worker must not get a second lane");
  auto& l = lane_of({job, index}, now).second;
  s = {};
  s.at = &l;
  s.at->slots = std::max(s.at->slots, slots);
  if (s.at->workers++ == 0) closed_.erase({s.at->closed, s.at->number});
}

activity_log::lane_map::value_type& activity_log::lane_of(lane_key const& key, time_point now) {
  if (auto const it = lanes_.find(key); it != lanes_.end()) return *it;
  forget_lanes(now);
  auto& made = *lanes_.emplace(key, lane{}).first;
  made.second.number = ++last_lane_;
  made.second.closed = now;
  by_number_.emplace(last_lane_, &made);
  closed_.emplace(now, last_lane_);
  return made;
}

void activity_log::close(worker_number w, time_point now) {
  auto& s = workers_[raw(w)];
  fold(s);
  auto& l = *s.at;
  s = {};
  if (--l.workers > 0) return;
  l.closed = now;
  closed_.emplace(now, l.number);
}

// Drops lanes without workers if the lanes are too old or the limit is exceeded.
void activity_log::forget_lanes(time_point now) {
  while (!closed_.empty() &&
         (closed_.begin()->first + kept_for < now || lanes_.size() >= config_.tasks_max)) {
    auto const it = by_number_.find(closed_.begin()->second);
    lanes_.erase(lane_key(it->second->first));
    by_number_.erase(it);
    closed_.erase(closed_.begin());
  }
}

void activity_log::add(worker_number w, execution const& e) {
  if (add_short(w, e.function, e.started, e.ended, e.state != span_state::succeeded)) return;
  auto& s = workers_[raw(w)];
  if (e.ended >= s.until) fold(s);
  keep(*s.at, e);
}

void activity_log::keep(lane& l, execution const& e) {
  bool const bad = e.state != span_state::succeeded;
  auto& b = append(e.started, e.ended, e.ended);
  auto lasted = static_cast<std::uint64_t>((e.ended - e.started).count());
  std::uint64_t coarse = 0;
  for (; lasted > ~std::uint32_t{0}; lasted >>= 1) ++coarse;
  b.closure = raw(e.closure);
  b.started =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, e.started.time_since_epoch().count()));
  b.state = static_cast<std::uint64_t>(e.state);
  b.sum = 0;
  b.coarse = coarse;
  b.lasted = static_cast<std::uint32_t>(lasted);
  b.lane = l.number;
  b.function = raw(e.function);
  b.job = static_cast<std::uint32_t>(raw(e.job));
  // The duration is split between the minutes. The last minute counts the closure.
  auto at = std::max(e.started, e.ended - kept_for + minute_long);
  while (at < e.ended) {
    auto& m = minute_at(l, at);
    auto const until = std::min(e.ended, time_point((m.number + std::int64_t{1}) * minute_long));
    m.busy += until - at;
    m.note(raw(e.function));
    at = until;
  }
  auto& last = minute_at(l, e.ended);
  ++last.count;
  last.failed += bad;
  last.note(raw(e.function));
}

void activity_log::restore(lane_key const& on, span_view const& v) {
  auto const ended = v.started + v.lasted;
  if (next_ == 0) recorded_since_ = complete_since_ = v.started;
  auto& l = lane_of(on, ended).second;
  if (l.closed < ended) {
    closed_.erase({l.closed, l.number});
    closed_.emplace(l.closed = ended, l.number);
  }
  if (v.closure != closure_id{})
    return keep(l, {v.closure, v.job, v.function, v.state, v.started, ended});
  auto& b = append(v.started, ended, ended);
  b = {};
  b.closure = v.count | std::uint64_t{v.failed} << 32;
  b.started =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, v.started.time_since_epoch().count()));
  b.sum = 1;
  b.lasted = static_cast<std::uint32_t>(v.lasted.count());
  b.lane = l.number;
  b.function = raw(v.function);
  b.job = static_cast<std::uint32_t>(v.busy.count());
  auto& m = minute_at(l, ended);
  m.count += v.count;
  m.failed += v.failed;
  m.busy += v.busy;
  m.note(b.function);
}

void activity_log::begin_sum(worker_sums& s, function_id f, time_point started, time_point now) {
  fold(s);
  open_sum(s, f, started, now);
}

void activity_log::turn_to_sum(worker_sums& s, function_id f, time_point started, time_point now) {
  auto const of = [&](function_id wanted) {
    return std::find_if(s.sums.begin(), s.sums.begin() + s.open,
                        [&](span const* b) { return b->function == raw(wanted); });
  };
  auto at = of(f);
  if (at == s.sums.begin() + s.open && s.open >= sums_max) at = of(f = several_functions);
  if (at == s.sums.begin() + s.open) return open_sum(s, f, started, now);
  s.sum = *at;
  s.begin = time_point(duration(static_cast<std::int64_t>(s.sum->started)));
}

// Allocates the span first, because its allocation can drop the worker's other sums.
void activity_log::open_sum(worker_sums& s, function_id f, time_point started, time_point now) {
  auto const until = end_of_span(now);
  auto& b = append(started, until, now);
  b = {};
  b.started =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, started.time_since_epoch().count()));
  b.sum = 1;
  b.lane = s.at->number;
  b.function = raw(f);
  if (s.open == 0) s.number = next_ - 1;
  s.until = until;
  s.sums[s.open++] = s.sum = &b;
  s.begin = started;
}

void activity_log::fold(worker_sums& s) {
  if (!s.sum) return;
  auto& m = minute_at(*s.at, s.until - sum_span);
  for (std::size_t i = 0; i < s.open; ++i) {
    auto const& b = *s.sums[i];
    m.count += static_cast<std::uint32_t>(b.closure);
    m.failed += static_cast<std::uint32_t>(b.closure >> 32);
    m.busy += duration(b.job);
    m.note(b.function);
  }
  s.sum = nullptr;
  s.open = 0;
  s.until = {};
}

activity_log::minute& activity_log::minute_at(lane& l, time_point t) {
  if (!l.minutes) l.minutes = std::make_unique<std::array<minute, minutes_kept>>();
  auto const number = minute_number(t);
  // A departing worker's sums can be an hour old. In this case, the slot keeps its newer minute.
  auto& m = (*l.minutes)[number % minutes_kept];
  if (m.number < number) m = {}, m.number = number;
  return m;
}

activity_log::span& activity_log::append(time_point begin, time_point end, time_point now) {
  if (now >= settled_at_) {
    settled_ = next_;
    settled_at_ = end_of_span(now);
  }
  if (chunks_.empty() || chunks_.back().used == spans_a_chunk) add_chunk(now);
  auto& c = chunks_.back();
  c.begin = std::min(c.begin, begin);
  c.end = std::max(c.end, end);
  ++next_;
  return c.spans[c.used++];
}

void activity_log::add_chunk(time_point now) {
  while (!chunks_.empty() && chunks_.front().end + kept_for < now) drop_oldest_chunk();
  auto const most = config_.activity_bytes_max / chunk_bytes;
  while (chunks_.size() > 1 && wide_.activity_chunks >= most) drop_oldest_chunk();
  ++wide_.activity_chunks;
  auto& c = chunks_.emplace_back();
  c.spans.reset(
      new span[spans_a_chunk]);  // not initialised, so that the system allocates only used pages
  c.first = next_;
}

void activity_log::drop_oldest_chunk() {
  auto const& c = chunks_.front();
  for (auto& s : workers_)
    if (s.sum && s.number < c.first + c.used) fold(s);
  complete_since_ = std::max(complete_since_, c.end);
  chunks_.pop_front();
  --wide_.activity_chunks;
}

std::string activity_log::invalid() const {
  std::unordered_map<lane const*, std::uint32_t> workers;
  for (auto const& s : workers_) {
    if (s.at) ++workers[s.at];
    if (s.sum && (!s.at || chunks_.empty() || s.number < chunks_.front().first))
      return "a sum is being added to a span that was removed";
  }
  for (auto const& l : lanes_)
    if (workers[&l.second] != l.second.workers) return "a lane's number of workers is wrong";
  for (auto const& [since, number] : closed_)
    if (auto const it = by_number_.find(number);
        it == by_number_.end() || it->second->second.workers > 0)
      return "a lane that has a worker is scheduled for removal";
  if (by_number_.size() != lanes_.size()) return "a lane has no number, or two numbers";
  auto at = chunks_.empty() ? next_ : chunks_.front().first;
  for (auto const& c : chunks_) {
    if (c.first != at) return "spans are missing between chunks";
    at += c.used;
  }
  return at == next_ ? std::string() : "the number of spans is wrong";
}

}  // namespace muster::history
