// Writes the records of a hub's jobs to the journal, and delays replies and events until the
// records that they depend on are durable. A session depends on the last batch that changed it or a
// session whose values are its inputs. Owned by a hub; used only on the engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/core/coordinator.hpp"
#include "server/hub/commit_queue.hpp"

namespace muster::server {

/// Empty if the core was configured without `durable`.
struct journal_dependencies {
  std::function<void(std::vector<core::fact> const&)> write = {};
  commit_queue* commits = nullptr;  // REQUIRES: set if `write` is set; outlives the hub
  /// Returns OK, or the reason why the journal accepts no new work.
  std::function<muster::status()> refusal = {};
};

class commit_gate {
 public:
  using sessions = std::vector<core::session_id>;

  explicit commit_gate(journal_dependencies d)
      : write_(std::move(d.write)), refusal_(std::move(d.refusal)), commits_(d.commits) {}

  bool has_journal() const { return commits_ != nullptr; }
  bool is_idle() const { return !commits_ || commits_->idle(); }
  bool is_acknowledged(std::uint64_t batch) const {
    return !commits_ || commits_->is_acknowledged(batch);
  }
  bool is_durable(core::session_id s) const {
    return !commits_ || batch_of(s) <= commits_->durable();
  }
  std::uint64_t written() const { return commits_ ? commits_->written() : 0; }
  muster::status failure() const { return commits_ ? commits_->failed() : muster::status{}; }
  /// Returns OK, or the reason why no new record can become durable.
  muster::status refusal() const;

  void write(std::vector<core::fact> const& facts);
  /// Calls `then` once the session's records (by default, all records so far) are durable or the
  /// disk has failed. Not called if the hub is destroyed first. With `may_be_lost`, `then` also
  /// gets the error if only records of the last batch are lost. REQUIRES: has_journal().
  template <class Then>
  void hold(bool may_be_lost, Then then, core::session_id s = {}) {
    put(s, may_be_lost,
        [alive = std::weak_ptr(alive_), then = std::move(then)](auto const& lost) mutable {
          if (!alive.expired()) then(lost);
        });
  }
  /// Calls `then` once the session's records are durable or the disk has failed, or immediately
  /// without a journal. For callers that outlive the hub.
  void when_durable(core::session_id s, commit_queue::callback then) {
    commits_ ? put(s, false, std::move(then)) : then({});
  }
  /// Calls `then` once this batch is durable or the disk has failed, or immediately without a
  /// journal. Not called if the hub is destroyed first.
  void when_durable(std::uint64_t batch, std::function<void()> then);

  /// Returns the sessions other than `own` whose values are the closures' inputs.
  sessions inputs(core::coordinator const& core, std::vector<core::closure_spec> const& closures,
                  core::session_id own) const;
  /// Returns the sessions that a retry of `retried` depends on.
  sessions inputs(core::session_id retried) const {
    return commits_ ? with_inputs({retried}) : sessions();
  }
  void add_inputs(core::session_id s, sessions const& from);
  void forget(core::session_id s) {
    if (!inputs_.empty()) inputs_.erase(s);
  }

 private:
  /// Returns the batch that the session depends on, or 0 if that batch is durable.
  std::uint64_t batch_of(core::session_id s) const;
  void put(core::session_id s, bool may_be_lost, commit_queue::callback then) {
    s == core::session_id{} ? commits_->hold(may_be_lost, std::move(then))
                            : commits_->hold_for(batch_of(s), std::move(then));
  }
  sessions with_inputs(sessions given) const;

  std::function<void(std::vector<core::fact> const&)> const write_;
  std::function<muster::status()> const refusal_;
  commit_queue* const commits_;
  // For each session, the sessions whose values are its inputs; `anything` if there are many.
  std::unordered_map<core::session_id, sessions> inputs_;
  std::shared_ptr<bool> const alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::server
