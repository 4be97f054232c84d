// Records which large values are needed to rebuild other values. A large value can exist only in
// workers' memory. The closure that produced a value can rebuild it, but needs its own large
// inputs, which can be lost as well. The closures that produced these inputs are therefore kept
// even after the client has released them. A closure that uses an input is a *user*. An input is
// needed `now` while a user is unfinished, and `again` while a user's value is only in workers'
// memory. States:
//
//             use          ended, value may be lost       copied or unwanted
//   closure ───────► user ─────────────────────────► maker ──────────────────► forgotten
//                      └──────────────── ended otherwise ─────────────────────────┘
//
// A needed input that its client has released is *alone*. The input's record is kept until its last
// user is removed. The input's value is kept only if the server stores the value or a user is
// unfinished. Used only on the engine thread; bounded by the closures' large inputs and by
// alone_max.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "server/core/api/ids.hpp"
#include "server/core/values/id_queue.hpp"

namespace muster::core {

class lineage_book {
 public:
  /// Maximum number of closures kept only because other closures need their values. At the limit,
  /// the oldest record is removed; values that depend on it can no longer be rebuilt.
  static constexpr std::size_t alone_max = 10'000;
  /// Maximum length of a chain of dependent values that are not on the server. A value that reaches
  /// the limit is copied to the server immediately.
  static constexpr std::uint32_t copied_every = 16;

  bool empty() const {
    return users_.empty() && copied_.empty() && alone_.empty() && less_needed_.empty();
  }

  /// Records that an unfinished user uses this large input. Repeated calls have no effect.
  void use(closure_id user, closure_id input);
  /// Returns whether the user's value should be copied to the server now.
  /// @param again whether the user's value can be lost.
  bool ended(closure_id user, bool again);
  /// Records that the server stores the closure's value, so that its inputs are no longer needed.
  void copied(closure_id id);
  bool is_copied(closure_id id) const { return copied_.contains(id); }
  void not_copied(closure_id id) { copied_.erase(id); }
  /// Records that the closure will not be rebuilt.
  void forget_user(closure_id user);
  void forget(closure_id id);

  bool is_needed(closure_id input) const { return needs_.contains(input); }
  bool is_needed_now(closure_id input) const;
  /// Keeps an input only for its users. REQUIRES: the input is needed, and its client has released
  /// it.
  void keep_for_users(closure_id input);
  bool is_alone(closure_id id) const { return alone_.contains(id); }
  std::size_t alone() const { return alone_.size(); }
  /// Schedules a check of an input that is alone and whose value may be available again.
  void look_at(closure_id id) {
    if (is_alone(id)) less_needed_.push_back(id);
  }
  /// Returns an input that is alone and may now be needed less, or a null id.
  closure_id take_recheck();
  /// Returns the oldest input that is alone if alone_max is exceeded, otherwise a null id.
  closure_id over_limit();

  std::string invalid() const;

 private:
  struct user {
    std::vector<closure_id> inputs;
    std::uint32_t depth = 0;
    bool ended = false;
  };
  struct need {
    std::uint32_t now = 0, again = 0;
  };

  void drop(user const& of);

  std::unordered_map<closure_id, user> users_;
  std::unordered_map<closure_id, need> needs_;
  std::unordered_set<closure_id> copied_;
  std::unordered_set<closure_id> alone_;
  id_queue oldest_;
  std::vector<closure_id> less_needed_;
};

}  // namespace muster::core
