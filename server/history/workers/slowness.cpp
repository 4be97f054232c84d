#include "server/history/workers/slowness.hpp"

#include <algorithm>
#include <tuple>

namespace muster::history {
namespace {

double lower_median(std::vector<double>& of) {
  auto const middle = of.begin() + static_cast<std::ptrdiff_t>((of.size() - 1) / 2);
  std::nth_element(of.begin(), middle, of.end());
  return *middle;
}

// Adds the sums of the same function and worker, and orders them by function.
void combine(std::vector<duration_sum>& sums) {
  auto const key = [](duration_sum const& s) { return std::tuple(s.function, s.worker); };
  std::sort(sums.begin(), sums.end(),
            [&](auto const& a, auto const& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (auto const& s : sums) {
    if (kept > 0 && key(sums[kept - 1]) == key(s)) {
      sums[kept - 1].count += s.count;
      sums[kept - 1].total += s.total;
    } else {
      sums[kept++] = s;
    }
  }
  sums.resize(kept);
}

double mean(duration_sum const& s) {
  return static_cast<double>(s.total.count()) / static_cast<double>(s.count);
}

}  // namespace

std::vector<worker_ratio> compare_workers(std::vector<duration_sum> sums, std::uint64_t least) {
  combine(sums);
  std::erase_if(sums,
                [least](auto const& s) { return s.count < std::max<std::uint64_t>(least, 1); });
  std::vector<worker_ratio> by_function;
  std::vector<double> means;
  for (auto begin = sums.begin(); begin != sums.end();) {
    auto const end = std::find_if(begin, sums.end(),
                                  [&](auto const& s) { return s.function != begin->function; });
    means.clear();
    for (auto it = begin; it != end; ++it) means.push_back(mean(*it));
    auto const median = lower_median(means);
    if (means.size() > 1 && median >= static_cast<double>(compared_from.count()))
      for (auto it = begin; it != end; ++it)
        by_function.push_back({it->worker, mean(*it) / median});
    begin = end;
  }
  std::stable_sort(by_function.begin(), by_function.end(),
                   [](auto const& a, auto const& b) { return a.worker < b.worker; });
  std::vector<worker_ratio> out;
  std::vector<double> ratios;
  for (auto begin = by_function.begin(); begin != by_function.end();) {
    auto const end = std::find_if(begin, by_function.end(),
                                  [&](auto const& r) { return r.worker != begin->worker; });
    ratios.clear();
    for (auto it = begin; it != end; ++it) ratios.push_back(it->ratio);
    out.push_back({begin->worker, lower_median(ratios)});
    begin = end;
  }
  return out;
}

std::optional<std::size_t> slow_since(std::span<minute_ratios const> minutes) {
  std::optional<std::size_t> since, of_window;
  if (minutes.empty() || minutes.back().window < slow_from_ratio) return {};
  for (auto i = minutes.size(); i-- > 0;) {
    auto const& m = minutes[i];
    if (m.minute == 0 && m.window == 0) continue;
    if (m.minute >= slow_from_ratio)
      since = i;
    else if (m.window >= slow_from_ratio)
      of_window = i;
    else
      break;
  }
  return since ? since : of_window;
}

}  // namespace muster::history
