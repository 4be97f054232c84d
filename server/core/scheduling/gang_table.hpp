// Gangs: closures of one request that start together or not at all. States:
//
//   forming ──every member is ready──► waiting ──an idle slot for each──► started (forgotten)
//      │                                 │  ▲
//      │           too large for the     ▼  │ a worker connects, or can take more
//      │           connected workers:   oversized
//      └───────── a member finished ──────┴──► broken: other members are cancelled
//
// A gang that would not fit even if all connected workers were idle is oversized and set apart, so
// that it does not block other gangs. No workers are kept free for it, and it does not count
// against tries_max. Used only on the engine thread; bounded by the number of closures, because a
// closure is in at most one gang.
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
  std::vector<closure_id> members;
  std::size_t ready = 0;
  time_point impatient_at = never;  // when to start keeping workers free for the gang
  bool impatient = false;
  std::uint64_t turn = 0;  // position among complete gangs; 0 if incomplete
  // Version of the fleet that could hold the gang; see fleet_changed().
  std::uint64_t fleet = 0;
};

class gang_table {
 public:
  /// Maximum number of members. A larger gang is refused with INVALID_ARGUMENT.
  static constexpr std::size_t size_max = 1'024;
  /// Time that a gang waits before workers are kept free for it.
  static constexpr duration patience = std::chrono::seconds(1);
  /// Maximum number of gangs per step, oldest first, that are tried without finding slots.
  static constexpr std::size_t tries_max = 16;
  /// Maximum number of waiting gangs examined per step, including gangs too large for all workers.
  static constexpr std::size_t looks_max = 64;

  void expect(std::string const& name) {
    auto const [it, added] = forming_.try_emplace(name, last_ + 1);
    if (added) all_[++last_].name = name;
    ++all_[it->second].size;
  }
  /// Adds the member and returns the gang's number. REQUIRES: expect(name) was called.
  std::uint64_t join(std::string const& name, closure_id member) {
    auto const id = forming_.at(name);
    all_.at(id).members.push_back(member);
    return id;
  }
  void end_of_request() { forming_.clear(); }

  /// Records that a member is ready. Returns whether it was the last member; the caller then sets
  /// an alarm for `impatient_at`.
  bool member_ready(std::uint64_t id, time_point now) {
    auto& g = all_.at(id);
    if (++g.ready < g.size) return false;
    g.impatient_at = now + patience;
    waiting_.emplace(g.turn = ++last_turn_, id);
    return true;
  }
  void on_patience_over(std::uint64_t id) { all_.at(id).impatient = true; }

  gang const* find(std::uint64_t id) const {
    auto const it = all_.find(id);
    return it == all_.end() ? nullptr : &it->second;
  }
  /// Returns the waiting gang after `turn`, and sets `turn` to its position. Returns 0 if no later
  /// gang waits.
  std::uint64_t next(std::uint64_t& turn) const {
    auto const it = waiting_.upper_bound(turn);
    if (it == waiting_.end()) return 0;
    turn = it->first;
    return it->second;
  }
  std::uint64_t next_oversized() {
    if (oversized_.empty()) return 0;
    auto it = oversized_.upper_bound(last_apart_);
    if (it == oversized_.end()) it = oversized_.begin();
    last_apart_ = it->first;
    return it->second;
  }
  bool waits(std::uint64_t id) const {
    auto const turn = all_.at(id).turn;
    return turn != 0 && waiting_.contains(turn);
  }
  bool is_apart(std::uint64_t id) const { return all_.at(id).turn != 0 && !waits(id); }
  bool oldest(std::uint64_t id) const {
    return !waiting_.empty() && waiting_.begin()->second == id;
  }
  bool any_waits() const { return !waiting_.empty() || !oversized_.empty(); }

  bool fits(gang const& g) const { return g.fleet == fleet_; }
  void found_to_fit(std::uint64_t id) { all_.at(id).fleet = fleet_; }
  /// REQUIRES: the gang waits.
  void set_oversized(std::uint64_t id) { oversized_.insert(waiting_.extract(all_.at(id).turn)); }
  /// Causes all gangs to be checked again. Must be called after a change to the workers or their
  /// capacity.
  void fleet_changed() {
    ++fleet_;
    waiting_.merge(oversized_);
  }

  /// REQUIRES: the gang exists.
  gang forget(std::uint64_t id) {
    auto g = std::move(all_.extract(id).mapped());
    waiting_.erase(g.turn);
    oversized_.erase(g.turn);
    return g;
  }

  /// Records, for the end of the step, that a member finished before the gang started.
  void member_ended(std::uint64_t id, closure_id member) {
    if (all_.contains(id)) broken_.emplace_back(id, member);
  }
  bool any_broken() const { return !broken_.empty(); }
  /// Removes a gang's entry from the list of broken gangs, and returns the gang's number and the
  /// member that finished before the gang started. REQUIRES: any_broken().
  std::pair<std::uint64_t, closure_id> take_broken() {
    auto const b = broken_.back();
    broken_.pop_back();
    return b;
  }

  std::map<std::uint64_t, gang> const& all() const { return all_; }

  std::string invalid() const {
    if (!forming_.empty() || !broken_.empty())
      return "a gang is still being formed or dissolved at the end of a step";
    std::size_t turns = 0;
    for (auto const& [id, g] : all_) {
      turns += g.turn != 0;
      if ((g.ready == g.size) != (g.turn != 0))
        return "gang '" + g.name + "' is ready but not in the queue, or in the queue but not ready";
    }
    return turns == waiting_.size() + oversized_.size() ? ""
                                                        : "the number of queued gangs is wrong";
  }

 private:
  std::map<std::uint64_t, gang> all_;
  std::map<std::uint64_t, std::uint64_t> waiting_, oversized_;
  std::map<std::string, std::uint64_t> forming_;
  std::vector<std::pair<std::uint64_t, closure_id>> broken_;
  std::uint64_t last_ = 0, last_turn_ = 0, last_apart_ = 0;
  std::uint64_t fleet_ = 1;
};

}  // namespace muster::core
