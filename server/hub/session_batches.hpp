// How far the disk has to be before something is told of a session: the last batch of the journal
// that changed it, or one of those whose values it takes as inputs. Owned by a hub, engine thread.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "server/core/coordinator.hpp"
#include "server/hub/commit_queue.hpp"

namespace muster::server {

class session_batches {
 public:
  using sessions = std::vector<core::session_id>;

  /// Null: nothing is written down, and nobody waits.
  explicit session_batches(commit_queue* commits) : commits_(commits) {}

  bool none() const { return commits_ == nullptr; }
  /// The queue's last batch has these.
  void wrote(std::vector<core::fact> const& facts);
  /// 0: all that is known of it is on the disk.
  std::uint64_t of(core::session_id s) const;
  bool is_written(core::session_id s) const { return none() || of(s) <= commits_->durable(); }

  /// Sessions other than `own` whose values the closures take.
  sessions inputs(core::coordinator const& of, std::vector<core::closure_spec> const& closures,
                  core::session_id own) const;
  /// Of a session that does what is left of another.
  sessions inputs(core::session_id again) const {
    return none() ? sessions() : with_theirs({again});
  }
  void takes(core::session_id s, sessions const& from);
  void forget(core::session_id s) {
    if (!inputs_.empty()) inputs_.erase(s);
  }

 private:
  sessions with_theirs(sessions given) const;

  commit_queue* const commits_;
  // As many as there are sessions with such inputs; for each a few, or `anything`.
  std::unordered_map<core::session_id, sessions> inputs_;
};

}  // namespace muster::server
