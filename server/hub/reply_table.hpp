// Handlers of pending calls, and the timer for the core's next deadline. Owned by a hub; used only
// on the engine thread.
#pragma once

#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::server {

/// Bounded by the core's limit of parked calls; other calls are answered within their step. `About`
/// is the data needed to answer a call.
template <class Reply, class About>
class reply_table {
 public:
  using handler = std::function<void(Reply&)>;

  /// All call IDs are greater than `above`.
  explicit reply_table(std::uint64_t above = 0) : last_call_(above) {}

  /// Returns a new call's ID. `done` gets the reply exactly once unless the call is forgotten.
  core::call_id expect(handler done, About about = {}) {
    auto const call = core::call_id{++last_call_};
    calls_.emplace(call, waiting{std::move(done), about});
    return call;
  }
  About about(core::call_id call) const {
    auto const it = calls_.find(call);
    return it == calls_.end() ? About{} : it->second.about;
  }
  /// Returns false if the handler has already been called.
  bool forget(core::call_id call) { return calls_.erase(call) == 1; }

  /// Must be called last in a step. The replies are a copy, because handlers may call the hub,
  /// which overwrites the core's effects.
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

/// Sets the timer only when the deadline has changed.
class deadline_alarm {
 public:
  using arm = std::function<void(core::time_point)>;

  void follow(core::time_point deadline, arm const& set) {
    if (deadline == armed_) return;
    armed_ = deadline;
    set(deadline);
  }
  /// Records that the timer has fired, so that it is set again even for the same time.
  void on_fired() { armed_ = core::never; }

 private:
  core::time_point armed_ = core::never;
};

}  // namespace muster::server
