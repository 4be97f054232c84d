#include "server/core/programs/shares.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace muster::core::programs {
namespace {

constexpr duration passed_over_max = std::chrono::hours(1);

template <class Program>
struct submitter {
  std::uint64_t ranks = 0;       // number of ranks that are alive or planned
  time_point last_begun{};       // start of the newest attempt of any of its programs
  std::deque<Program*> queue{};  // programs of the current priority, oldest first

  /// Sort key, smallest first: whether the submitter waited for less than an hour, ranks per
  /// weight, and age.
  using turn = std::tuple<bool, double, program_id>;
  turn next(time_point now) const {
    auto const& p = *queue.front();
    auto const since =
        std::max({p.created, last_begun, p.attempts > 0 ? p.now.about.ended : time_point{}});
    auto const weight = std::max(p.spec->weight, 1u);
    return {now - since < passed_over_max, static_cast<double>(ranks) / weight, p.id};
  }
};
template <class Program>
using submitters = std::map<std::string_view, submitter<Program>>;

template <class Program>
submitters<Program> holders(std::map<program_id, program> const& all) {
  submitters<Program> found;
  for (auto const& [id, p] : all) {
    if (p.attempts == 0) continue;
    auto& s = found[p.spec->submitted_by];
    s.ranks += p.now.alive;
    s.last_begun = std::max(s.last_begun, p.now.about.begun);
  }
  return found;
}

std::uint64_t ranks_of(program_spec const& spec) {
  std::uint64_t sum = 0;
  for (auto const& t : spec.tasks) sum += t.min;
  return sum;
}

}  // namespace

template <class Program>
std::vector<Program*> in_turn(std::vector<Program*> waiting,
                              std::map<program_id, program> const& all, time_point now) {
  auto const by = [](program const* p) -> std::string const& { return p->spec->submitted_by; };
  auto const same = [&](program const* p) { return by(p) == by(waiting.front()); };
  if (std::all_of(waiting.begin(), waiting.end(), same)) return waiting;
  auto known = holders<Program>(all);
  for (auto first = waiting.begin(); first != waiting.end();) {
    auto const priority = (*first)->spec->priority;
    auto const end = std::find_if(first, waiting.end(),
                                  [&](program const* p) { return p->spec->priority != priority; });
    // Programs that pause or lack their upload cannot start now, even if it is their turn.
    auto const able = std::stable_partition(
        first, end, [now](program const* p) { return p->not_before <= now && !p->lacks_upload(); });
    for (auto it = first; it != able; ++it) known[by(*it)].queue.push_back(*it);
    std::set<std::pair<typename submitter<Program>::turn, submitter<Program>*>> turns;
    for (auto& [id, s] : known)
      if (!s.queue.empty()) turns.emplace(s.next(now), &s);
    for (; first != able; ++first) {
      auto& s = *turns.extract(turns.begin()).value().second;
      *first = s.queue.front();
      s.queue.pop_front();
      s.ranks += ranks_of(*(*first)->spec);
      s.last_begun = now;
      if (!s.queue.empty()) turns.emplace(s.next(now), &s);
    }
    first = end;
  }
  return waiting;
}

template std::vector<program*> in_turn(std::vector<program*>, std::map<program_id, program> const&,
                                       time_point);
template std::vector<program const*> in_turn(std::vector<program const*>,
                                             std::map<program_id, program> const&, time_point);

}  // namespace muster::core::programs
