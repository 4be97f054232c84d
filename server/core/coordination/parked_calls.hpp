// Every parked call of a generation: what it waits for, and when it is answered at the latest.
// Bounded by limits::parked_calls_max; a call that finds it full is refused at once.
#pragma once

#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/check.hpp"
#include "server/core/coordination/api/requests.hpp"

namespace muster::core::coordination {

struct barrier;
struct alive_wait;

enum class wait_kind : std::uint8_t { barrier, key, poll, watch, alive };

struct parked_call {
  wait_kind kind = wait_kind::poll;
  task_index task = no_task;
  time_point since{};
  time_point answer_by = never;
  coordination::barrier* barrier = nullptr;   // kind barrier
  coordination::alive_wait* alive = nullptr;  // kind alive
  std::string const* key = nullptr;           // kind key: as the store holds it
  std::string asked;                          // kind key: the caller's spelling, when it differs
  std::string peer;                           // kind key: the address it comes from
  std::size_t job = 0;                        // kind watch: which roll it watches
  core::incarnation incarnation{};            // kind barrier, registration: whose
};

class parked_calls {
 public:
  using calls = std::unordered_map<call_id, parked_call>;

  void park(call_id call, parked_call p) {
    if (p.answer_by != never) deadlines_.emplace(p.answer_by, call);
    check(calls_.emplace(call, std::move(p)).second, "a call is parked once");
  }

  /// REQUIRES: parked.
  parked_call take(call_id call) {
    auto node = calls_.extract(call);
    check(!node.empty(), "only a parked call is answered");
    if (node.mapped().answer_by != never) deadlines_.erase({node.mapped().answer_by, call});
    return std::move(node.mapped());
  }

  parked_call const* find(call_id call) const {
    auto const it = calls_.find(call);
    return it == calls_.end() ? nullptr : &it->second;
  }

  time_point next_deadline() const {
    return deadlines_.empty() ? never : deadlines_.begin()->first;
  }
  /// REQUIRES: next_deadline() != never.
  call_id first_due() const { return deadlines_.begin()->second; }
  std::size_t size() const { return calls_.size(); }
  calls const& all() const { return calls_; }

 private:
  calls calls_;
  std::set<std::pair<time_point, call_id>> deadlines_;  // in order, so replies are deterministic
};

}  // namespace muster::core::coordination
