// Gangs: closures of one request that start together or not at all.
//
//   forming ──every member is ready──► waiting ──an idle slot for each──► started (forgotten)
//      │                                 │  ▲
//      │             too large for what  ▼  │ other workers have come, or can take more
//      │             is connected:      apart
//      └────────── a member ended ────────┴──► broken: the others are cancelled
//
// One that the connected workers could not hold if they were idle is set apart, so that it does not
// stand in the way of others: nothing is kept free for it, and it takes none of the tries.
//
// Owned by the scheduler. Bounded by the closures, each of which is in one gang at most.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

struct gang {
  std::string name;
  std::size_t size = 0;
  std::vector<closure_id> members;  // in schedule order
  std::size_t ready = 0;            // members that wait for nothing but the others and a worker
  time_point impatient_at = never;  // from then on workers are kept free for it
  bool impatient = false;
  std::uint64_t turn = 0;   // among those that wait: the order in which they were complete; 0: none
  std::uint64_t fleet = 0;  // the workers could hold it when they were these; see fleet_changed
};

class gang_table {
 public:
  /// Members of one gang. More: INVALID_ARGUMENT.
  static constexpr std::size_t size_max = 1'024;
  /// How long a gang waits for slots to fall free at one time before others are kept from them.
  static constexpr duration patience = std::chrono::seconds(1);
  /// Waiting gangs that find no slots in a step: the oldest. The others' turn comes.
  static constexpr std::size_t tries_max = 16;
  /// The same, with those that turn out to be too large for all workers.
  static constexpr std::size_t looks_max = 64;

  /// A closure of the request that is being scheduled will be a member.
  void expect(std::string const& name) {
    auto const [it, added] = forming_.try_emplace(name, last_ + 1);
    if (added) all_[++last_].name = name;
    ++all_[it->second].size;
  }
  /// REQUIRES: expected. Returns the gang.
  std::uint64_t join(std::string const& name, closure_id member) {
    auto const id = forming_.at(name);
    all_.at(id).members.push_back(member);
    return id;
  }
  /// Names of gangs are of one request: the next one may use them again.
  void end_of_request() { forming_.clear(); }

  /// One more member is ready. True: it was the last, and the gang is impatient at impatient_at.
  bool member_ready(std::uint64_t id, time_point now) {
    auto& g = all_.at(id);
    if (++g.ready < g.size) return false;
    g.impatient_at = now + patience;
    waiting_.emplace(g.turn = ++last_turn_, id);
    return true;
  }
  /// Its alarm has rung: workers may be kept free for it.
  void on_patience_over(std::uint64_t id) { all_.at(id).impatient = true; }

  gang const* find(std::uint64_t id) const {
    auto const it = all_.find(id);
    return it == all_.end() ? nullptr : &it->second;
  }
  /// The next that waits after this turn, which is set to its own; 0: there is none.
  std::uint64_t next(std::uint64_t& turn) const {
    auto const it = waiting_.upper_bound(turn);
    if (it == waiting_.end()) return 0;
    turn = it->first;
    return it->second;
  }
  /// One of those that are set apart, another each time; 0: there is none.
  std::uint64_t next_apart() {
    if (apart_.empty()) return 0;
    auto it = apart_.upper_bound(last_apart_);
    if (it == apart_.end()) it = apart_.begin();
    last_apart_ = it->first;
    return it->second;
  }
  bool waits(std::uint64_t id) const {
    auto const turn = all_.at(id).turn;
    return turn != 0 && waiting_.contains(turn);
  }
  /// Whether it was set apart, since no workers could hold it.
  bool is_apart(std::uint64_t id) const { return all_.at(id).turn != 0 && !waits(id); }
  bool oldest(std::uint64_t id) const {
    return !waiting_.empty() && waiting_.begin()->second == id;
  }
  /// Whether any gang is complete and has not started.
  bool any_waits() const { return !waiting_.empty() || !apart_.empty(); }

  /// Whether the workers that are there now were found to be able to hold it.
  bool fits(gang const& g) const { return g.fleet == fleet_; }
  /// Workers that are there could hold it: not looked for again until the fleet changes.
  void found_to_fit(std::uint64_t id) { all_.at(id).fleet = fleet_; }
  /// REQUIRES: it waits.
  void set_apart(std::uint64_t id) { apart_.insert(waiting_.extract(all_.at(id).turn)); }
  /// Workers have come, gone, or can take more or less than before: each gang is looked at anew.
  void fleet_changed() {
    ++fleet_;
    waiting_.merge(apart_);
  }

  /// Returns it as it was. REQUIRES: there is one.
  gang forget(std::uint64_t id) {
    auto g = std::move(all_.extract(id).mapped());
    waiting_.erase(g.turn);
    apart_.erase(g.turn);
    return g;
  }

  /// A member has ended before it started; told at the end of the step.
  void member_ended(std::uint64_t id, closure_id member) {
    if (all_.contains(id)) broken_.emplace_back(id, member);
  }
  /// Whether a member of any has ended before it could start.
  bool any_broken() const { return !broken_.empty(); }
  /// REQUIRES: any_broken().
  std::pair<std::uint64_t, closure_id> take_broken() {
    auto const b = broken_.back();
    broken_.pop_back();
    return b;
  }

  std::map<std::uint64_t, gang> const& all() const { return all_; }

  /// Empty when all is in order between two steps.
  std::string invalid() const {
    if (!forming_.empty() || !broken_.empty()) return "a gang was left half-way";
    std::size_t turns = 0;
    for (auto const& [id, g] : all_) {
      turns += g.turn != 0;
      if ((g.ready == g.size) != (g.turn != 0))
        return "gang '" + g.name + "' is ready and does not wait, or the other way round";
    }
    return turns == waiting_.size() + apart_.size() ? "" : "a gang waits that is not known";
  }

 private:
  std::map<std::uint64_t, gang> all_;
  std::map<std::uint64_t, std::uint64_t> waiting_, apart_;    // by turn: which
  std::map<std::string, std::uint64_t> forming_;              // of the request being scheduled
  std::vector<std::pair<std::uint64_t, closure_id>> broken_;  // in this step
  std::uint64_t last_ = 0, last_turn_ = 0, last_apart_ = 0;
  std::uint64_t fleet_ = 1;  // counts its changes
};

}  // namespace muster::core
