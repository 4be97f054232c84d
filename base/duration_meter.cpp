#include "base/duration_meter.hpp"

#include <algorithm>
#include <bit>

#include "base/percentile.hpp"

namespace muster {

namespace {

// Only one thread writes, so the addition needs no atomic read-modify-write operation.
template <class T>
void increase(std::atomic<T>& to, T by) {
  to.store(to.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace

duration_counts::duration duration_counts::limit(std::size_t bucket) {
  if (bucket == 0) return duration(4);
  auto const octave = (bucket - 1) / an_octave, quarter = (bucket - 1) % an_octave;
  return duration(static_cast<std::int64_t>(an_octave + 1 + quarter) << octave);
}

std::size_t duration_counts::bucket_of(duration d) {
  if (d.count() <= 4) return 0;
  auto const us = static_cast<std::uint64_t>(d.count()) - 1;
  auto const bits = static_cast<std::size_t>(std::bit_width(us));
  return std::min(1 + (bits - 3) * an_octave + (us >> (bits - 3)) % an_octave, buckets - 1);
}

std::uint64_t duration_counts::count() const {
  std::uint64_t n = 0;
  for (auto const& b : all) n += b.count;
  return n;
}

duration_counts::duration duration_counts::sum() const {
  duration total{};
  for (auto const& b : all) total += b.sum;
  return total;
}

duration_counts::duration duration_counts::percentile(double part) const {
  auto const n = count();
  if (n == 0) return {};
  auto rank = percentile_rank(part, n);
  for (auto const& b : all) {
    if (rank <= b.count) return b.sum / static_cast<std::int64_t>(b.count);
    rank -= b.count;
  }
  return {};
}

void duration_meter::add_to(slot& s, std::size_t bucket, std::int64_t us) {
  increase(s.cells[bucket].count, std::uint64_t{1});
  increase(s.cells[bucket].sum_us, us);
  if (us > s.longest_us.load(std::memory_order_relaxed))
    s.longest_us.store(us, std::memory_order_relaxed);
}

void duration_meter::add(duration d, clock::time_point now) {
  auto const us = std::max<std::int64_t>(0, d.count());
  auto const bucket = duration_counts::bucket_of(d);
  auto const number = number_of(now);
  auto& s = slots_[static_cast<std::size_t>(number) % slots_.size()];
  if (s.number.load(std::memory_order_relaxed) != number) {
    s.number = -1;
    for (auto& c : s.cells) c.count = 0, c.sum_us = 0;
    s.longest_us = 0;
    s.number = number;
  }
  add_to(s, bucket, us);
  add_to(total_, bucket, us);
}

void duration_meter::read(cell_list const& from, duration_counts& into) {
  for (std::size_t n = 0; n < from.size(); ++n) {
    into.all[n].count += from[n].count.load(std::memory_order_relaxed);
    into.all[n].sum += duration(from[n].sum_us.load(std::memory_order_relaxed));
  }
}

duration_counts duration_meter::total() const {
  duration_counts all;
  read(total_.cells, all);
  return all;
}

duration_meter::recent duration_meter::last_minute(clock::time_point now) const {
  recent r;
  auto const newest = number_of(now);
  for (auto const& s : slots_) {
    auto const number = s.number.load();
    if (number < 0 || number > newest || newest - number > parts) continue;
    read(s.cells, r.times);
    r.longest = std::max(r.longest, duration(s.longest_us.load(std::memory_order_relaxed)));
  }
  return r;
}

}  // namespace muster
