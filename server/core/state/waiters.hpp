// Calls that wait for the end of a job or closure, with their deadlines. config::parked_calls_max
// limits the number of these calls; further calls are refused immediately.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "base/check.hpp"
#include "server/core/api/model.hpp"

namespace muster::core {

struct waiter {
  session_id session{};  // session of a join
  closure_id closure{};  // closure of a request for a value
  time_point deadline = never;
  join_mode mode = join_mode::watch;
  time_point since{};
};

class waiters {
 public:
  /// REQUIRES: size() is below config::parked_calls_max.
  void park(call_id call, waiter w) {
    check(calls_.emplace(call, w).second, "a call must not be parked twice");
    deadlines_.emplace(w.deadline, call);
    if (w.closure != closure_id{}) by_closure_[w.closure].push_back(call);
  }

  waiter const& at(call_id call) const { return calls_.at(call); }

  /// Returns false if the call is not waiting, for example because it was already answered.
  bool remove(call_id call, waiter* was = nullptr) {
    auto const it = calls_.find(call);
    if (it == calls_.end()) return false;
    auto const w = it->second;
    if (was) *was = w;
    deadlines_.erase({w.deadline, call});
    calls_.erase(it);
    if (w.closure != closure_id{}) {
      auto const list = by_closure_.find(w.closure);
      std::erase(list->second, call);
      if (list->second.empty()) by_closure_.erase(list);
    }
    return true;
  }

  std::vector<call_id> of(closure_id c) const {
    auto const it = by_closure_.find(c);
    return it == by_closure_.end() ? std::vector<call_id>{} : it->second;
  }

  time_point next_deadline() const {
    return deadlines_.empty() ? never : deadlines_.begin()->first;
  }
  /// Returns the call with the earliest deadline. REQUIRES: not empty.
  call_id first() const { return deadlines_.begin()->second; }
  std::size_t size() const { return calls_.size(); }
  bool empty() const { return calls_.empty(); }

 private:
  std::unordered_map<call_id, waiter> calls_;
  // Ordered, so that replies are deterministic.
  std::set<std::pair<time_point, call_id>> deadlines_;
  std::unordered_map<closure_id, std::vector<call_id>> by_closure_;
};

}  // namespace muster::core
