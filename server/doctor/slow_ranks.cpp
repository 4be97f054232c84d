#include "server/doctor/slow_ranks.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace muster::doctor {
namespace {

// Minimum distance of a median from zero, in standard errors. Together with behind_min, this limit
// makes false alarms rare although a program is checked repeatedly.
constexpr double errors_min = 5;
// Maximum drift of arrivals if ranks wait for each other: the shift between the first and second
// half, as a share of the variation of step times.
constexpr double wander_max = 0.5;

double median_of(std::vector<double>& all) {
  if (all.empty()) return 0;
  auto const middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

// Delays of each rank as fractions of a step, for the steps that the rank reported.
struct behind {
  std::vector<std::vector<double>> takes, arrives;
};

struct judged {
  double median = 0, errors = 0;
};
judged judge(std::vector<double> values) {
  if (values.size() < steps_min) return {};
  judged j{median_of(values), 0};
  for (auto& v : values) v = std::abs(v - j.median);
  auto const spread = std::max(1.4826 * median_of(values), 1e-6);
  j.errors = j.median / (1.2533 * spread / std::sqrt(static_cast<double>(values.size())));
  return j;
}

double spread_of(std::vector<double> values) {
  auto const middle = median_of(values);
  for (auto& v : values) v = std::abs(v - middle);
  return 1.4826 * median_of(values);
}

// Returns whether ranks wait for each other. If they do not, their arrivals drift apart.
bool wait_for_each_other(std::vector<std::vector<double>> const& arrives,
                         std::vector<std::vector<double>> const& takes,
                         std::vector<std::uint32_t> const& who) {
  std::vector<double> moved, varies;
  for (auto const r : who) {
    auto const& a = arrives[r];
    if (a.size() < steps_min || takes[r].empty()) continue;
    auto const half = a.begin() + static_cast<std::ptrdiff_t>(a.size() / 2);
    std::vector<double> first(a.begin(), half), second(half, a.end());
    moved.push_back(std::abs(median_of(first) - median_of(second)));
    varies.push_back(spread_of(takes[r]));
  }
  return moved.size() >= peers_min && median_of(moved) <= wander_max * median_of(varies);
}

}  // namespace

std::vector<slow_rank> slow_ranks(std::span<step_column const> columns,
                                  std::span<std::uint32_t const> like, core::duration blur) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> kinds;
  for (std::uint32_t r = 0; r < like.size(); ++r) kinds[like[r]].push_back(r);
  std::vector<slow_rank> found;
  for (auto const& [kind, who] : kinds) {
    if (who.size() < peers_min) continue;
    behind all{std::vector<std::vector<double>>(like.size()),
               std::vector<std::vector<double>>(like.size())};
    std::vector<slow_rank> odd(like.size());
    std::vector<double> lengths;
    std::vector<double> values;
    for (auto const& c : columns) {
      values.clear();
      for (auto const r : who)
        if (c.took[r] != 0) values.push_back(c.took[r]);
      if (values.size() < peers_min) continue;
      auto const usual = median_of(values);
      lengths.push_back(usual);
      values.clear();
      std::int64_t first = 0;  // arrival of some rank, subtracted to keep the numbers small
      for (auto const r : who) {
        if (c.at[r] == 0) continue;
        if (first == 0) first = c.at[r];
        values.push_back(static_cast<double>(c.at[r] - first));
      }
      bool const arrivals = values.size() >= peers_min;
      auto const middle = arrivals ? median_of(values) : 0;
      for (auto const r : who) {
        if (c.took[r] != 0) all.takes[r].push_back(c.took[r] / usual - 1);
        if (arrivals && c.at[r] != 0)
          all.arrives[r].push_back((static_cast<double>(c.at[r] - first) - middle) / usual);
        if (c.took[r] < odd_times * usual) continue;
        odd[r].step = c.step;
        odd[r].took = core::duration(c.took[r]);
        odd[r].usual = core::duration(static_cast<std::int64_t>(usual));
        ++odd[r].times;
      }
    }
    if (lengths.empty()) continue;
    auto const step = median_of(lengths);
    bool const waits = wait_for_each_other(all.arrives, all.takes, who);
    auto const blurred = static_cast<double>(blur.count()) / step;
    for (auto const r : who) {
      auto const takes = judge(all.takes[r]);
      auto const late = waits ? judge(all.arrives[r]) : judged{};
      bool const by_length = takes.median >= behind_min && takes.errors >= errors_min;
      bool const by_arrival =
          late.median >= std::max(behind_min, blurred) && late.errors >= errors_min;
      auto s = odd[r];
      s.rank = r;
      s.chronic = by_length || by_arrival;
      s.arrives_late = by_arrival && !by_length;
      if (s.chronic)
        s.permille = static_cast<std::uint32_t>(
            std::min(1e6, 1000 * (by_length ? takes.median : late.median)));
      if (s.chronic || s.times > 0) found.push_back(s);
    }
  }
  std::stable_sort(found.begin(), found.end(), [](auto const& a, auto const& b) {
    return a.chronic != b.chronic ? a.chronic
           : a.chronic            ? a.permille > b.permille
                                  : a.took * b.usual.count() > b.took * a.usual.count();
  });
  return found;
}

}  // namespace muster::doctor
