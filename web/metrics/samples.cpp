#include "web/metrics/samples.hpp"

#include <algorithm>
#include <array>

#include "base/percentile.hpp"
#include "base/text.hpp"

namespace muster::web {

namespace {

// Updates are irregular. A point is completed slightly early instead of one update late.
constexpr std::chrono::milliseconds early{100};

double in_ms(core::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

}  // namespace

closure_times collect_times(server::pools& all, server::cluster_scope const& scope) {
  closure_times t;
  all.for_each([&](server::hub& h) {
    if (!scope.sees(h.cluster())) return;
    t.wait += h.past().metrics().queue_wait;
    t.run += h.past().metrics().execution;
  });
  return t;
}

// For a time window, only the count and sum of each bucket are known. All durations in a bucket are
// therefore assumed to equal their mean.
double percentile_between(history::histogram const& then, history::histogram const& now, double p) {
  using history::histogram;
  struct group {
    std::uint64_t count = 0;
    core::duration least{}, most{};
  };
  std::array<group, histogram::buckets + 1> groups;
  for (std::size_t n = 0; n <= histogram::buckets; ++n) {
    // Counts of a deleted cluster disappear, so the difference can be negative.
    auto const count = now.in(n)-std::min(then.in(n), now.in(n));
    if (count == 0) continue;
    auto const least = n == 0 ? core::duration{} : histogram::limit(n - 1);
    auto const most = n == histogram::buckets ? core::duration::max() : histogram::limit(n);
    auto const mean = std::clamp(
        (now.sum_in(n) - then.sum_in(n)) / static_cast<std::int64_t>(count), least, most);
    groups[n] = {count, mean, mean};
  }
  return in_ms(percentile_of_groups(groups, p));
}

std::optional<sample_history::point> sample_history::series::add(counters const& c,
                                                                 closure_times const& t) {
  auto const& n = c.overview.closures;
  auto const finished = n.succeeded + n.failed + n.cancelled;
  queued_ += static_cast<double>(n.queued);
  running_ += static_cast<double>(n.running);
  heard_ = std::max(heard_, in_ms(c.overview.heartbeat_p99));
  ++seen_;
  bool const first = begun_ == core::time_point{};
  if (!first && c.now - begun_ < step_ - early) return {};
  std::optional<point> made;
  if (!first) {
    auto const seconds = std::chrono::duration<double>(c.now - begun_).count();
    auto const rate = [seconds](std::uint64_t now, std::uint64_t then) {
      return static_cast<float>(static_cast<double>(now - std::min(then, now)) / seconds);
    };
    auto const time = [](history::histogram const& then, history::histogram const& now, double p) {
      return static_cast<float>(percentile_between(then, now, p));
    };
    auto& f = made.emplace().figures;
    made->at = c.now;
    f[point::queued] = static_cast<float>(queued_ / seen_);
    f[point::running] = static_cast<float>(running_ / seen_);
    f[point::finished] = rate(finished, finished_then_);
    f[point::failed] = rate(n.failed, failed_then_);
    f[point::heartbeat_p99] = static_cast<float>(heard_);
    f[point::wait_p50] = time(then_.wait, t.wait, 0.5);
    f[point::wait_p99] = time(then_.wait, t.wait, 0.99);
    f[point::run_p50] = time(then_.run, t.run, 0.5);
    f[point::run_p99] = time(then_.run, t.run, 0.99);
    keep(*made);
  }
  begun_ = c.now;
  then_ = t;
  finished_then_ = finished;
  failed_then_ = n.failed;
  queued_ = running_ = heard_ = 0;
  seen_ = 0;
  return made;
}

void sample_history::series::keep(point const& p) {
  if (points_.size() == points_max_) points_.pop_front();
  points_.push_back(p);
}

void sample_history::series::say(member_list const& m) const {
  write_points(m, step_, points_);
}

void write_points(member_list const& m, core::duration step,
                  std::deque<sample_history::point> const& points) {
  using point = sample_history::point;
  auto const column = [&](std::string_view name, point::figure which, std::string_view words) {
    m.list(
        name, points, [which](point const& p) { return p.figures[which]; }, words);
  };
  constexpr std::string_view times = "0 if no closure started or ended in the step";
  m("step_ms", step);
  m.list(
      "t", points, [](point const& p) { return p.at; }, "end of each step");
  column("queued", point::queued, {});
  column("running", point::running, {});
  column("finished", point::finished,
         "closures that ended per second, including failed and cancelled closures");
  column("failed", point::failed, "closures that failed per second");
  column("hb_p99", point::heartbeat_p99, "the highest value in the step, in ms");
  column("wait_p50_ms", point::wait_p50, times);
  column("wait_p99_ms", point::wait_p99, times);
  column("run_p50_ms", point::run_p50, times);
  column("run_p99_ms", point::run_p99, times);
}

sample_history::sample_history()
    : all_{series(std::chrono::seconds(1), 300), series(std::chrono::seconds(10), 360),
           series(std::chrono::minutes(1), 1440)} {}

void sample_history::add(counters const& c, closure_times const& t) {
  if (earlier_)
    for (auto const& p : std::exchange(earlier_, nullptr)())
      if (p.series < all_.size()) all_[p.series].keep(p);
  for (std::uint32_t i = 0; i < all_.size(); ++i) {
    auto made = all_[i].add(c, t);
    if (!made) continue;
    made->series = i;
    made_(*made);
  }
}

void sample_history::say(member_list const& m, std::string_view span) const {
  auto const it = std::find_if(std::begin(spans), std::end(spans),
                               [span](auto known) { return equal_ignoring_case(known, span); });
  all_[static_cast<std::size_t>(it - std::begin(spans))].say(m);
}

}  // namespace muster::web
