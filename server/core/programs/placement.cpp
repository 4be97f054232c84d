// Places the most demanding types first, because they fit on the fewest workers.
#include "server/core/programs/placement.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

namespace muster::core::programs {
namespace {

std::uint32_t fitting(named_amounts const& free, named_amounts const& each, std::uint32_t max) {
  for (auto const& [name, amount] : each) {
    if (amount == 0) continue;
    auto const has = std::find_if(free.begin(), free.end(),
                                  [&, &wanted = name](auto const& p) { return p.first == wanted; });
    max = std::min(max, has == free.end() ? 0u : has->second / amount);
  }
  return max;
}

struct share {
  room* at = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t ranks = 0;
};

// Divides the group among workers. If the group does not fit, returns an empty list and sets
// `missing`.
std::vector<share> divide(program_tasks const& group, std::uint32_t count, std::vector<room>& rooms,
                          std::uint32_t& missing) {
  std::vector<share> shares;
  for (auto& r : rooms) {
    if (!has_labels(r.labels, group.labels)) continue;
    auto const n = fitting(r.free, group.resources, std::min(count, r.ranks_max));
    if (n > 0) shares.push_back({&r, n});
  }
  std::sort(shares.begin(), shares.end(), [](share const& a, share const& b) {
    return std::tuple(b.capacity, a.at->host) < std::tuple(a.capacity, b.at->host);
  });
  auto left = count;
  if (group.resources.empty() && !shares.empty()) {
    auto const even = count / static_cast<std::uint32_t>(shares.size());
    for (auto& s : shares) left -= s.ranks = std::min(even, s.capacity);
    for (auto& s : shares)
      if (left > 0 && s.ranks < s.capacity && s.ranks <= even) ++s.ranks, --left;
  }
  for (auto& s : shares) {
    auto const more = std::min(left, s.capacity - s.ranks);
    s.ranks += more;
    left -= more;
  }
  missing = left;
  if (left > 0) return {};
  std::sort(shares.begin(), shares.end(),
            [](share const& a, share const& b) { return a.at->host < b.at->host; });
  return shares;
}

std::vector<std::uint32_t> hardest_first(program_spec const& spec) {
  auto order = group_order(spec);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    auto const hard = [&](program_tasks const& t) {
      std::uint64_t sum = 0;
      for (auto const& r : t.resources) sum += r.second;
      return std::tuple(t.labels.size(), sum);
    };
    return hard(spec.tasks[b]) < hard(spec.tasks[a]);
  });
  return order;
}

placement place_counts(program_spec const& spec, std::vector<std::uint32_t> const& counts,
                       std::vector<room> rooms) {
  std::vector<std::vector<placed_rank>> of(spec.tasks.size());
  std::uint32_t fit = 0;
  bool all = true;
  for (auto const g : hardest_first(spec)) {
    if (counts[g] == 0) continue;
    std::uint32_t missing = 0;
    auto const shares = divide(spec.tasks[g], counts[g], rooms, missing);
    fit += counts[g] - missing;
    all = all && !shares.empty();
    for (auto const& s : shares) {
      s.at->ranks_max -= s.ranks;
      for (std::uint32_t i = 0; i < s.ranks; ++i) {
        take(s.at->free, spec.tasks[g].resources);
        of[g].push_back({g, static_cast<std::uint32_t>(of[g].size()), s.at->host});
      }
    }
  }
  placement p;
  p.would_fit = fit;
  if (!all) return p;
  for (auto const g : group_order(spec)) p.ranks.insert(p.ranks.end(), of[g].begin(), of[g].end());
  return p;
}

// Reduces the maximum task counts by `fewer` tasks, starting with the types that have the largest
// range.
std::vector<std::uint32_t> counts_with(program_spec const& spec, std::uint32_t fewer) {
  std::vector<std::uint32_t> order(spec.tasks.size()), counts;
  std::iota(order.begin(), order.end(), 0u);
  auto const range = [&](std::uint32_t g) { return spec.tasks[g].max - spec.tasks[g].min; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return range(b) < range(a); });
  for (auto const& t : spec.tasks) counts.push_back(t.max);
  for (auto const g : order) {
    auto const less = std::min(fewer, range(g));
    counts[g] -= less;
    fewer -= less;
  }
  return counts;
}

}  // namespace

bool has_labels(named_texts const* has, named_texts const& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [has](auto const& l) {
    return has && std::find(has->begin(), has->end(), l) != has->end();
  });
}

placement place(program_spec const& spec, std::vector<room> const& all) {
  auto rooms = all;
  if (spec.per_worker > 0)
    for (auto& r : rooms) r.ranks_max = std::min(r.ranks_max, spec.per_worker);
  std::uint32_t most = 0;
  for (auto const& t : spec.tasks) most += t.max - t.min;
  auto best = place_counts(spec, counts_with(spec, 0), rooms);
  if (!best.ranks.empty() || most == 0) return best;
  best = place_counts(spec, counts_with(spec, most), rooms);
  if (best.ranks.empty()) return best;
  std::uint32_t fits = most, does_not = 0;  // search bounds, in tasks below the maximum
  while (fits - does_not > 1) {
    auto const half = does_not + (fits - does_not) / 2;
    auto trial = place_counts(spec, counts_with(spec, half), rooms);
    if (trial.ranks.empty()) {
      does_not = half;
    } else {
      fits = half;
      best = std::move(trial);
    }
  }
  return best;
}

std::vector<std::uint32_t> group_order(program_spec const& spec) {
  std::vector<std::uint32_t> order(spec.tasks.size());
  std::iota(order.begin(), order.end(), 0u);
  auto const place_of = [&](std::uint32_t g) {
    std::string_view const type = spec.tasks[g].type;
    auto const known = {"chief", "worker", "ps", "evaluator"};
    auto const at = std::find(known.begin(), known.end(), type) - known.begin();
    return std::tuple(at, type);
  };
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return place_of(a) < place_of(b); });
  return order;
}

bool take(named_amounts& from, named_amounts const& amounts) {
  auto left = from;
  for (auto const& [name, amount] : amounts) {
    if (amount == 0) continue;
    auto const has = std::find_if(left.begin(), left.end(),
                                  [&, &wanted = name](auto const& p) { return p.first == wanted; });
    if (has == left.end() || has->second < amount) return false;
    has->second -= amount;
  }
  from = std::move(left);
  return true;
}

void give_back(named_amounts& to, named_amounts const& amounts) {
  for (auto const& [name, amount] : amounts) {
    auto const has = std::find_if(to.begin(), to.end(),
                                  [&, &wanted = name](auto const& p) { return p.first == wanted; });
    if (has != to.end()) has->second += amount;
  }
}

}  // namespace muster::core::programs
