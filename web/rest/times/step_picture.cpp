#include "web/rest/times/step_picture.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace muster::web {
namespace {

using doctor::step_span;

std::uint32_t in_us(core::duration d) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(d.count(), 0, std::numeric_limits<std::uint32_t>::max()));
}

core::duration mean(step_span const& s) {
  return s.took / static_cast<std::int64_t>(s.count);
}

}  // namespace

step_picture::step_picture(picture_query const& q) : q_(q), until_(q.to) {
  q_.ranks = std::clamp(q.ranks, 1u, ranks_max);
  auto const buckets = std::clamp(q.buckets, 1u, std::min(buckets_max, cells_max / q_.ranks));
  auto const length = std::max(q.to - q.from, core::duration(1));
  bucket_ = (length + core::duration(buckets - 1)) / static_cast<std::int64_t>(buckets);
}

void step_picture::add(doctor::step_segment const& s) {
  if ((q_.attempt != 0 && s.attempt != q_.attempt) || s.last < q_.from || s.first > q_.to) return;
  doctor::unpack(s.bytes, s.first, [this](step_span const& one) { add(one); });
}

// Counts a step in the bucket in which it ends. A step that ends after the chart is only drawn as a
// single step.
void step_picture::add(step_span const& s) {
  if (s.ended < q_.from || s.ended - s.took > q_.to) return;
  bool const ends_here = s.ended <= q_.to;
  if (ends_here) all_.add(in_us(mean(s)), s.count);
  if (s.rank < q_.first_rank || s.rank - q_.first_rank >= q_.ranks) return;
  since_ = std::min(since_, s.ended - s.took);
  if (!many_ && spans_.size() == spans_max) {
    many_ = true;
    spans_ = {};
  }
  if (!many_) spans_.push_back(s);
  if (!ends_here) return;
  auto& c = lanes_[s.rank][static_cast<std::uint32_t>((s.ended - q_.from) / bucket_)];
  c.steps += s.count;
  c.longest = std::max(c.longest, in_us(s.longest));
  c.some.add(in_us(mean(s)), s.count);
}

void step_picture::say(member_list const& m) const {
  m("from_ms", q_.from);
  m("until_ms", until_, "end of the period that was read; continue from this time");
  m.when(since_ != core::never)(
      "since_ms", since_, "steps are complete since this time; missing if there are no steps");
  auto const usual = all_.median();
  m("usual_us", usual, "median duration of all steps of the program within the period");
  m("slow_us", slow_times * std::uint64_t{usual}, "steps that take at least this long are slow");
  m.when(!many_).object(
      "steps", [this](member_list const& of) { write_spans(of); },
      "present if there are few steps: columns of equal length, sorted by end time");
  m.when(many_)("bucket_us", static_cast<std::uint64_t>(bucket_.count()));
  m.when(many_).list(
      "lanes", lanes_,
      [](member_list const& of, std::pair<std::uint32_t const, lane> const& l) {
        of("rank", l.first);
        auto const column = [&](std::string_view name, auto const& value,
                                std::string_view words = {}) {
          of.list(name, l.second, value, words);
        };
        using one = std::pair<std::uint32_t const, cell>;
        column(
            "bucket", [](one const& c) { return c.first; },
            "zero-based indices of the buckets that contain steps");
        column(
            "steps", [](one const& c) { return c.second.steps; }, "steps that ended in the bucket");
        column("p50_us", [](one const& c) { return c.second.some.median(); });
        column("max_us", [](one const& c) { return c.second.longest; });
      },
      "present if there are many steps");
}

void step_picture::write_spans(member_list const& m) const {
  auto sorted = spans_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto const& a, auto const& b) { return a.ended < b.ended; });
  m.list("rank", sorted, [](step_span const& s) { return s.rank; });
  m.list(
      "step", sorted, [](step_span const& s) { return s.step; }, "number of the entry's last step");
  m.list(
      "end_us", sorted, [this](step_span const& s) { return (s.ended - q_.from).count(); },
      "end of the step, after from_ms");
  m.list(
      "took_us", sorted, [](step_span const& s) { return s.took.count(); },
      "total duration of the entry's steps");
  m.list(
      "count", sorted, [](step_span const& s) { return s.count; },
      "number of steps in the entry; more than 1 if short steps are combined");
  m.list("longest_us", sorted, [](step_span const& s) { return s.longest.count(); });
}

}  // namespace muster::web
