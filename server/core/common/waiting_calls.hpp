// Calls that wait for their reply. `Wait` describes the awaited condition and has a member
// `time_point deadline`. The owning core limits the number of calls. Not thread-safe.
#pragma once

#include <set>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

template <class Wait>
class waiting_calls {
 public:
  /// REQUIRES: `call` is not parked.
  void park(call_id call, Wait w) {
    if (w.deadline != never) deadlines_.emplace(w.deadline, call);
    check(calls_.emplace(call, std::move(w)).second, "a call must not be parked twice");
  }

  Wait const* find(call_id call) const {
    auto const it = calls_.find(call);
    return it == calls_.end() ? nullptr : &it->second;
  }

  /// REQUIRES: the call is parked.
  Wait take(call_id call) {
    auto node = calls_.extract(call);
    check(!node.empty(), "only a parked call can be answered");
    if (node.mapped().deadline != never) deadlines_.erase({node.mapped().deadline, call});
    return std::move(node.mapped());
  }

  time_point next_deadline() const {
    return deadlines_.empty() ? never : deadlines_.begin()->first;
  }
  /// REQUIRES: next_deadline() != never.
  call_id first() const { return deadlines_.begin()->second; }
  std::size_t size() const { return calls_.size(); }
  bool empty() const { return calls_.empty(); }
  std::unordered_map<call_id, Wait> const& all() const { return calls_; }

 private:
  std::unordered_map<call_id, Wait> calls_;
  std::set<std::pair<time_point, call_id>> deadlines_;  // ordered, so replies are deterministic
};

}  // namespace muster::core
