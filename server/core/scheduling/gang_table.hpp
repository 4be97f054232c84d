// Gangs: closures of one request that start together or not at all.
//
//   forming ──every member is ready──► waiting ──an idle slot for each──► started (forgotten)
//      └────────── a member ended ────────┴──► broken: the others are cancelled
//
// Owned by the scheduler. Bounded by the closures, each of which is in one gang at most.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
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
};

class gang_table {
 public:
  /// Members of one gang. More: INVALID_ARGUMENT.
  static constexpr std::size_t size_max = 1'024;
  /// How long a gang waits for slots to fall free at one time before others are kept from them.
  static constexpr duration patience = std::chrono::seconds(1);
  /// Waiting gangs that are looked at in a step: the oldest. The others' turn comes.
  static constexpr std::size_t tries_max = 16;

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
  void end_of_request() { forming_.clear(); }

  /// One more member is ready. True: it was the last, and the gang is impatient at impatient_at.
  bool member_ready(std::uint64_t id, time_point now) {
    auto& g = all_.at(id);
    if (++g.ready < g.size) return false;
    g.impatient_at = now + patience;
    waiting_.push_back(id);
    return true;
  }
  void now_impatient(std::uint64_t id) { all_.at(id).impatient = true; }

  gang const* find(std::uint64_t id) const {
    auto const it = all_.find(id);
    return it == all_.end() ? nullptr : &it->second;
  }
  /// The oldest gangs that wait, as many as are tried in a step.
  std::vector<std::uint64_t> to_try() const {
    auto const n = std::min(waiting_.size(), tries_max);
    return {waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(n)};
  }
  bool waits(std::uint64_t id) const {
    return std::find(waiting_.begin(), waiting_.end(), id) != waiting_.end();
  }
  bool oldest(std::uint64_t id) const { return !waiting_.empty() && waiting_.front() == id; }
  bool any_waits() const { return !waiting_.empty(); }

  /// Returns it as it was. REQUIRES: there is one.
  gang forget(std::uint64_t id) {
    std::erase(waiting_, id);
    return std::move(all_.extract(id).mapped());
  }

  /// A member has ended before it started; told at the end of the step.
  void member_ended(std::uint64_t id, closure_id member) {
    if (all_.contains(id)) broken_.emplace_back(id, member);
  }
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
    for (auto const& [id, g] : all_)
      if ((g.ready == g.size) != waits(id))
        return "gang '" + g.name + "' is ready and does not wait, or the other way round";
    return {};
  }
  template <class Archive>
  void walk(Archive& a) {
    a(all_, waiting_, last_);
  }

 private:
  std::map<std::uint64_t, gang> all_;
  std::deque<std::uint64_t> waiting_;                         // oldest first
  std::map<std::string, std::uint64_t> forming_;              // of the request being scheduled
  std::vector<std::pair<std::uint64_t, closure_id>> broken_;  // in this step
  std::uint64_t last_ = 0;
};

}  // namespace muster::core
