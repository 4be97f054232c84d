// Sessions and REST jobs: their state, their error, their parked joins, and notes about removed
// sessions. A job that has sent no closure to a worker is displayed as QUEUED; in this table, the
// job's state is `running`. States:
//
//            schedule…            seal, no closures left
//   running ───────────► running ───────────────────────► succeeded | failed (on_error: continue)
//      │ first error (fail_fast) or cancel
//      ▼
//   running, stopping: queued closures are cancelled, workers are asked to stop running closures
//      │ no closure is running
//      ▼
//   failed | cancelled        (a streaming session starts its next generation instead; it ends
//                              when its client leaves)
//
// Other sub-models own a session's closures, values and queues. Used only on the engine thread. The
// table enforces notes_max; the callers enforce config::sessions_max, finished_jobs_max and
// ended_sessions_max.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "server/core/api/changes.hpp"
#include "server/core/api/config.hpp"
#include "server/core/api/facts.hpp"
#include "server/core/common/numbered.hpp"
#include "server/core/records/closure_table.hpp"
#include "server/core/sessions/request_ledger.hpp"

namespace muster::core {

struct session : job_fact {
  session_number number{};
  std::size_t capacity = 0;
  std::uint32_t max_worker_failures = 0;  // 0 if there is no limit
  // True for client sessions without a limit of their own. For closures of a generation, only
  // processes that ended count towards the default limit.
  bool ignores_lost_workers = false;

  bool started = false;
  bool full = false;  // the client must pause until a notice allows it to continue
  bool owns_per_worker = false;
  bool unsettled = false;
  std::string stopped_because;
  bool durable = false;

  // Only for resumable sessions.
  std::unordered_map<std::uint64_t, closure_id> by_token;  // unreleased closures
  slot_list held;
  request_ledger requests;      // only for durable sessions
  std::uint64_t repeating = 0;  // requested repeats whose values are being read back
  bool attached = false;
  time_point lease_until = never;  // when the session expires if its client sends nothing
  time_point lease_alarm = never;  // time of the lease alarm, not after lease_until

  time_point deadline = never;
  time_point age_alarm = never;  // when a value, or the job, becomes too old
  std::vector<call_id> joins;

  void take(session_spec s, config const& c);

  core::delivery delivery() const { return spec.delivery; }
  session_traits const& traits() const { return traits_of(spec.delivery); }
  bool terminal() const { return state != job_state::running; }
  job_state shown_state() const {
    return terminal() || started || traits().generations ? state : job_state::queued;
  }
  /// Returns whether the client of a streaming session has left, so that only its record remains.
  bool has_ended() const { return terminal() && traits().generations; }
};

class session_table {
 public:
  session_table(server_wide& wide, changes& out) : wide_(wide), changes_(out) {}

  /// At the limit, the oldest note about a removed session is dropped.
  static constexpr std::size_t notes_max = 10'000;

  session& open_own(delivery d);
  session_id next_id() const { return session_id{wide_.last_session + 1}; }
  /// REQUIRES: s.id is next_id().
  session& add(session s);
  /// Restores a session from an earlier server process. REQUIRES: the id is unused; ended sessions
  /// are restored in the order in which they ended.
  session& restore(session s) { return put(std::move(s), true); }
  /// Removes the session and keeps a note about it. REQUIRES: the session's closures, values and
  /// queues are removed.
  /// @param values number of the session's succeeded closures.
  void erase(session& s, release_reason why, time_point now, std::uint64_t values = 0);

  session* find(session_id id) const {
    auto const it = sessions_.find(id);
    return it == sessions_.end() ? nullptr : it->second.get();
  }
  session* find_open(session_id id) const {
    auto* s = find(id);
    return s && s->has_ended() ? nullptr : s;
  }
  session& of(session_number n) { return *by_number_[raw(n)]; }
  session const& of(session_number n) const { return *by_number_[raw(n)]; }
  session* find_key(session_spec const& like) const;
  std::map<session_id, std::unique_ptr<session>> const& all() const { return sessions_; }
  /// Returns whether any cluster of this server has ever used the id.
  bool was(session_id id) const { return raw(id) != 0 && raw(id) <= wide_.last_session; }
  std::optional<release_note> note_of(session_id id) const;

  /// Reports a change, unless the session belongs to the core itself.
  void report_change(session const& s, bool restored = false) {
    if (s.id == session_id{}) return;
    changes_.sessions.push_back({s.id, s.delivery(), s.shown_state(), s.generation, s.sealed,
                                 s.stopping, s.attached, s.closed, restored, s.finished, s.full});
  }
  /// Records that the first closure of the session was sent to a worker.
  void note_start(session& s, bool restored = false);
  void finished(session& s);
  void forget_finished(session const& s) {
    std::erase(!s.traits().generations ? finished_ : ended_, s.id);
  }
  session* pop_oldest_finished() { return pop_oldest(finished_); }
  session* pop_oldest_ended() { return pop_oldest(ended_); }
  std::size_t finished_count() const { return finished_count_; }
  std::size_t ended_count() const { return ended_count_; }
  std::uint64_t jobs(job_state s) const { return jobs_[static_cast<std::size_t>(s)]; }
  std::uint64_t streams() const { return streams_; }

  void settle_later(session& s);
  std::vector<session_id> take_unsettled() { return std::exchange(unsettled_, {}); }

  /// Pauses or resumes the client. REQUIRES: `on` differs from the current state.
  void hold_back(session& s, bool on) {
    s.full = on;
    held_back_ += on ? 1 : ~std::size_t{0};
    report_change(s);
  }
  std::size_t held_back() const { return held_back_; }

  std::string invalid() const;

 private:
  session& put(session s, bool restored);
  void enlist(session& s);
  session* pop_oldest(std::deque<session_id>& of);

  server_wide& wide_;
  changes& changes_;
  number_pool<session_number> numbers_;
  std::map<session_id, std::unique_ptr<session>> sessions_;
  std::vector<std::unique_ptr<session>> own_;
  std::vector<session*> by_number_;
  std::unordered_map<std::string, session_id> by_key_;
  std::deque<session_id> finished_;  // oldest first; can contain removed sessions
  std::size_t finished_count_ = 0;
  std::deque<session_id> ended_;
  std::size_t ended_count_ = 0;
  // Number of jobs by job_state. Finished jobs are counted since the server started.
  std::uint64_t jobs_[enum_size<job_state>] = {};
  std::uint64_t streams_ = 0;
  std::size_t held_back_ = 0;
  std::vector<session_id> unsettled_;
  std::unordered_map<session_id, release_note> notes_;
  std::deque<session_id> notes_order_;
};

}  // namespace muster::core
