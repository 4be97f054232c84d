// What both hubs do alike around their cores: the handlers of calls that wait for their replies,
// and the one timer that stands for the core's next deadline. Owned by a hub; engine thread only.
#pragma once

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::server {

/// Bounded by the core's own limit of parked calls: all others are answered in the step that asks.
/// `About`: what the hub has to know of a call when it is answered.
template <class Reply, class About>
class reply_table {
 public:
  using handler = std::function<void(Reply&)>;

  /// `above`: calls have greater numbers.
  explicit reply_table(std::uint64_t above = 0) : last_call_(above) {}

  /// Mints the call's id; `done` gets the reply exactly once unless the call is forgotten.
  core::call_id expect(handler done, About about = {}) {
    auto const call = core::call_id{++last_call_};
    calls_.emplace(call, waiting{std::move(done), about});
    return call;
  }
  /// Of one that waits.
  About about(core::call_id call) const {
    auto const it = calls_.find(call);
    return it == calls_.end() ? About{} : it->second.about;
  }
  /// The handler is dropped and never called. False: it was called already.
  bool forget(core::call_id call) { return calls_.erase(call) == 1; }

  /// To be done last in a step: the handlers may call back into the hub, which makes the core
  /// overwrite its effects, so the replies are the table's own.
  void deliver(std::vector<Reply> replies) {
    for (auto& r : replies)
      if (auto node = calls_.extract(r.call)) node.mapped().done(r);
  }

 private:
  struct waiting {
    handler done;
    About about;
  };
  std::unordered_map<core::call_id, waiting> calls_;
  std::uint64_t last_call_;
};

/// Arranges for a tick at the core's next deadline, and only when that has moved.
class deadline_alarm {
 public:
  using arm = std::function<void(core::time_point)>;

  void follow(core::time_point deadline, arm const& set) {
    if (deadline == armed_) return;
    armed_ = deadline;
    set(deadline);
  }
  /// It has rung, and is to be set again even for the same time.
  void on_fired() { armed_ = core::never; }

 private:
  core::time_point armed_ = core::never;
};

}  // namespace muster::server
