#include "web/rest/history/history_charts.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "server/history/store/records.hpp"

namespace muster::web {

namespace {

using namespace std::chrono_literals;
using point = sample_history::point;

// Spans are stored when they end. A span that ends more than this time after the chart is not
// found.
constexpr core::duration ends_within = 1h;

core::duration step_for(history_query const& q, std::size_t steps, core::duration least) {
  auto const n = static_cast<std::int64_t>(steps);
  auto const whole = std::chrono::floor<std::chrono::milliseconds>(q.to - q.from);
  auto const wanted = (whole + core::duration(n - 1)) / n;
  return std::max<std::int64_t>(1, (wanted + least - core::duration(1)) / least) * least;
}

std::size_t steps_of(history_query const& q, core::duration step) {
  return static_cast<std::size_t>((q.to - q.from) / step) + 1;
}

std::uint32_t series_for(core::duration time) {
  return time <= 1h ? 0 : time <= 24h ? 1 : 2;
}
constexpr std::array<core::duration, 3> series_step{1s, 10s, 60s};

// Reads until `latest` or the time limit. Returns the time up to which records were read.
template <class Decode, class Take>
core::time_point scan_for(server::history_store const& store, server::history_kind kind,
                          core::time_point from, core::time_point to, core::time_point latest,
                          Decode const& decode, Take take) {
  auto const until = std::chrono::steady_clock::now() + summary_read_for;
  auto told = to;
  store.scan(kind, {from, 0}, [&](server::history_place at, std::string_view record) {
    if (at.at > latest) return false;
    if (std::chrono::steady_clock::now() >= until) {
      told = std::min(at.at, to);
      return false;
    }
    take(store.decoded(kind, at, record, decode));
    return true;
  });
  return told;
}

constexpr bool is_mean(std::size_t figure) {
  return figure <= point::failed;
}

}  // namespace

history_samples read_samples(server::history_store const& store, history_query const& q,
                             std::size_t steps) {
  auto const which = series_for(q.to - q.from);
  history_samples all;
  all.step = step_for(q, steps, series_step[which]);
  std::uint32_t seen = 0;
  all.until = scan_for(store, server::history_kind::points, q.from, q.to, q.to + series_step[which],
                       server::point_from, [&](server::chart_point const& p) {
                         if (p.series != which || !q.takes(p.at)) return;
                         auto const end = q.from + ((p.at - q.from) / all.step + 1) * all.step;
                         if (all.points.empty() || all.points.back().at < end) {
                           all.points.push_back(p);
                           all.points.back().at = end;
                           seen = 1;
                           return;
                         }
                         auto& to = all.points.back().figures;
                         auto const n = static_cast<float>(++seen);
                         for (std::size_t i = 0; i < to.size(); ++i)
                           to[i] = is_mean(i) ? to[i] + (p.figures[i] - to[i]) / n
                                              : std::max(to[i], p.figures[i]);
                       });
  return all;
}

void members(member_list const& m, history_samples const& s) {
  write_points(m, s.step, s.points);
  m.when(s.until != core::time_point{})(
      "until_ms", s.until,
      "with from_ms: end of the period that was read; continue from this time");
}

namespace {

class stream_fold {
 public:
  stream_fold(history_stream& to, std::size_t steps)
      : to_(to), steps_(steps), lanes_max_(std::max<std::size_t>(1, to.cells_max / steps)) {}

  void add(history::recorded_span const& s) {
    auto const ended = s.what.started + s.what.lasted;
    auto const end = to_.from + to_.step * static_cast<std::int64_t>(steps_);
    if (ended < to_.from || s.what.started >= end) return;
    bool const ends_here = ended < end;
    add_function(s, ends_here);
    auto* const l = lane_of(s.lane);
    if (!l) {
      to_.left_out += s.what.count;
      return;
    }
    if (ends_here) {
      auto const i = place_of(ended);
      l->ended[i] += s.what.count;
      l->failed[i] += s.what.failed;
    }
    spread(*l, s.what, ended);
  }

 private:
  std::size_t place_of(core::time_point t) const {
    return static_cast<std::size_t>(std::max(core::duration{}, t - to_.from) / to_.step);
  }
  // Distributes the busy time of a span over the steps in proportion to its overlap.
  void spread(history_stream::lane& l, core::span_view const& s, core::time_point ended) const {
    auto const busy = s.closure == core::closure_id{} && s.busy.count() > 0 ? s.busy : s.lasted;
    auto const last = std::min(place_of(ended), steps_ - 1);
    for (auto i = place_of(s.started); i <= last; ++i) {
      auto const begin = to_.from + to_.step * static_cast<std::int64_t>(i);
      auto const here = std::min(ended, begin + to_.step) - std::max(s.started, begin);
      l.busy_us[i] += s.lasted.count() > 0
                          ? static_cast<std::int64_t>(static_cast<double>(busy.count()) *
                                                      static_cast<double>(here.count()) /
                                                      static_cast<double>(s.lasted.count()))
                          : busy.count();
    }
  }
  history_stream::lane* lane_of(core::lane_key const& task) {
    auto const it = lanes_.find(task);
    if (it != lanes_.end()) return &to_.lanes[it->second];
    if (to_.lanes.size() == lanes_max_) return nullptr;
    lanes_.emplace(task, to_.lanes.size());
    to_.lanes.push_back({task, std::vector<std::int64_t>(steps_),
                         std::vector<std::uint64_t>(steps_), std::vector<std::uint64_t>(steps_)});
    return &to_.lanes.back();
  }
  void add_function(history::recorded_span const& s, bool ends_here) {
    auto it = functions_.find(s.function.name);
    if (it == functions_.end()) {
      bool const room = functions_.size() < history_stream::functions_max;
      it = functions_.emplace(room ? s.function.name : std::string(), to_.functions.size()).first;
      if (it->second == to_.functions.size()) to_.functions.push_back({it->first});
    }
    auto& f = to_.functions[it->second];
    f.busy += s.what.closure == core::closure_id{} ? s.what.busy : s.what.lasted;
    if (!ends_here) return;
    f.ended += s.what.count;
    f.failed += s.what.failed;
  }

  history_stream& to_;
  std::size_t const steps_, lanes_max_;
  std::map<core::lane_key, std::size_t> lanes_;
  std::map<std::string, std::size_t, std::less<>> functions_;
};

}  // namespace

history_stream read_stream(server::history_store const& store, std::string cluster,
                           history_query const& q, std::size_t steps) {
  history_stream all;
  all.cluster = std::move(cluster);
  all.from = q.from;
  all.step = step_for(q, steps, 1s);
  stream_fold fold(all, steps_of(q, all.step));
  all.until = scan_for(store, server::history_kind::spans, q.from, q.to, q.to + ends_within,
                       server::spans_from, [&](server::recorded_spans const& some) {
                         if (some.cluster != all.cluster) return;
                         for (auto const& s : some.spans) fold.add(s);
                       });
  std::sort(all.lanes.begin(), all.lanes.end(),
            [](auto const& a, auto const& b) { return a.task < b.task; });
  std::sort(all.functions.begin(), all.functions.end(),
            [](auto const& a, auto const& b) { return a.busy > b.busy; });
  return all;
}

void members(member_list const& m, history_stream const& s) {
  m("cluster", s.cluster);
  m("from_ms", s.from);
  m("until_ms", s.until, "end of the period that was read; continue from this time");
  m("step_ms", s.step);
  m.list("tasks", s.lanes, [](member_list const& of, history_stream::lane const& l) {
    of("task", l.task.first + ":" + std::to_string(l.task.second));
    of.list(
        "busy_ms", l.busy_us, [](std::int64_t us) { return core::duration(us); },
        "busy time of all closures in each step");
    of("ended", l.ended, "closures that ended in each step");
    of("failed", l.failed, "closures that failed in each step");
  });
  m.list("functions", s.functions, [](member_list const& of, history_stream::function const& f) {
    of("name", f.name, "function name; empty for several functions combined");
    of("ended", f.ended);
    of("failed", f.failed);
    of("busy_ms", f.busy);
  });
  m.some("left_out", s.left_out,
         "number of closures whose workers were omitted to limit the size of the response");
}

}  // namespace muster::web
