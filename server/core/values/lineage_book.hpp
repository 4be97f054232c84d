// Which large values are needed to make others again. A large value may be in the memory of workers
// alone; it is made again by its closure, of whose inputs the large ones may be lost with it. So
// their closures stay known although nobody wants their values, as long as a closure that used them
// has not ended (`now`), or has and its own value is in the memory of workers alone (`again`).
//
//                 use              ended, its value may be lost           copied, or unwanted
//   closure ─────────────► user ───────────────────────────────► maker ───────────────────────►
//   none
//                            └────────── ended otherwise ────────────────────────────────────────┘
//
// An input that its client has let go of while it is needed is *alone*: its record is kept, without
// its value unless the server has that or a user has not ended. It goes with its last user.
//
// Knows ids only. Owned by the coordinator; engine thread only. Limits: as many entries as closures
// have large inputs; `alone_max` that are kept for nobody.
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
  /// Closures that are kept for others alone. More: the oldest goes, and what it would be needed
  /// for cannot be made again.
  static constexpr std::size_t alone_max = 10'000;
  /// Values made of each other of which the server has none. The last is copied to it at once.
  static constexpr std::uint32_t copied_every = 16;

  bool empty() const {
    return users_.empty() && copied_.empty() && alone_.empty() && less_needed_.empty();
  }

  /// The user, which has not ended, has this large input's value. Again: nothing.
  void use(closure_id user, closure_id input);
  /// `again`: its value may be lost. True: it is to be copied to the server now.
  bool ended(closure_id user, bool again);
  /// The server has its value: it needs its inputs no more.
  void copied(closure_id id);
  bool is_copied(closure_id id) const { return copied_.contains(id); }
  /// Its value is another, or is gone.
  void not_copied(closure_id id) { copied_.erase(id); }
  /// It is not made again: it needs its inputs no more.
  void forget_user(closure_id user);
  /// Its record goes.
  void forget(closure_id id);

  bool is_needed(closure_id input) const { return needs_.contains(input); }
  /// By a closure that has not ended.
  bool is_needed_now(closure_id input) const;
  /// REQUIRES: it is needed, and nobody wants it.
  void keep_alone(closure_id input);
  bool is_alone(closure_id id) const { return alone_.contains(id); }
  std::size_t alone() const { return alone_.size(); }
  /// It is alone, perhaps, and has its value again.
  void look_at(closure_id id) {
    if (is_alone(id)) less_needed_.push_back(id);
  }
  /// One that is alone and may be needed less than before; none: there is no other.
  closure_id take_less_needed();
  /// The oldest of too many that are alone; none: there are not too many.
  closure_id over_limit();

  /// Empty when its counts are right.
  std::string invalid() const;

 private:
  struct user {
    std::vector<closure_id> inputs;
    std::uint32_t depth = 0;  // once it has ended
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
  id_queue oldest_;                      // that are, or were, alone
  std::vector<closure_id> less_needed_;  // of this step
};

}  // namespace muster::core
