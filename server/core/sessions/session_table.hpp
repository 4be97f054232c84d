// Who has opened what: sessions, and jobs over REST, with their phase, their error, who waits for
// them, and what is remembered of those that are forgotten.
//
// A job that has sent nothing to a worker yet is shown as QUEUED; it is `running` here.
//
//            schedule…            seal, nothing left
//   running ───────────► running ───────────────────► succeeded | failed (on_error: continue)
//      │ first error (fail_fast) or cancel
//      ▼
//   running, stopping: queued ones are cancelled, running ones asked to stop
//      │ nothing runs any more
//      ▼
//   failed | cancelled        (a streaming session starts its next generation instead; it has
//                              ended when its client is gone)
//
// It gives the numbers by which the other sub-models know a session; its closures, values and
// queues are theirs. Owned by the coordinator; engine thread only. Limits: config::sessions_max,
// finished_jobs_max and ended_sessions_max, kept by the callers; notes_max.
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
  std::uint32_t max_worker_failures = 0;  // 0: no limit
  // A client's session that sets no limit: lost workers do not count towards it for closures of the
  // generation, ends of their processes do.
  bool forgives_lost_workers = false;

  bool started = false;          // a closure of it was sent to a worker
  bool full = false;             // told to hold back; a notice follows
  bool owns_per_worker = false;  // values that go with it
  bool unsettled = false;        // listed to be settled at the end of the step
  std::string stopped_because;   // while it is stopping: the message of what is cancelled for it
  bool durable = false;          // what changes of it is said as facts

  // Of a resumable session.
  std::unordered_map<std::uint64_t, closure_id> by_token;  // records that are not released
  slot_list held;                                          // ended records that stay
  request_ledger requests;                                 // if it is durable
  std::uint64_t repeating = 0;     // outcomes that are asked for again, while values are read back
  bool attached = false;           // a stream serves it
  time_point lease_until = never;  // without a sign of its client
  time_point lease_alarm = never;  // set for then or earlier

  time_point deadline = never;
  time_point age_alarm = never;  // a value, or the job, is too old then
  std::vector<call_id> joins;

  /// What it asks for, and the limits that follow from that.
  void take(session_spec s, config const& c);

  core::delivery delivery() const { return spec.delivery; }
  session_traits const& traits() const { return traits_of(spec.delivery); }
  bool terminal() const { return state != job_state::running; }
  /// Returns the state for views and listeners: a job that has not started is QUEUED.
  job_state shown_state() const {
    return terminal() || started || traits().generations ? state : job_state::queued;
  }
  /// A streaming session without its client: nothing of it is left but what people look at.
  bool has_ended() const { return terminal() && traits().generations; }
};

class session_table {
 public:
  /// Both outlive it. What changes is said in `out`.
  session_table(server_wide& wide, changes& out) : wide_(wide), changes_(out) {}

  /// Notes of forgotten sessions. More: the oldest is forgotten.
  static constexpr std::size_t notes_max = 10'000;

  /// A session of the core's own; in no list.
  session& open_own(delivery d);
  /// The next id, not in the table yet.
  session_id next_id() const { return session_id{wide_.last_session + 1}; }
  /// REQUIRES: s.id is next_id().
  session& add(session s);
  /// One of an earlier process, with its id. REQUIRES: nobody has that id; ended ones come in the
  /// order in which they ended.
  session& restore(session s) { return put(std::move(s), true); }
  /// Forgets it and keeps a note. REQUIRES: nothing of it is left.
  /// `values`: so many of its closures have succeeded.
  void erase(session& s, release_reason why, time_point now, std::uint64_t values = 0);

  session* find(session_id id) const {
    auto const it = sessions_.find(id);
    return it == sessions_.end() ? nullptr : it->second.get();
  }
  /// The same without streaming sessions that have ended, which are only there to be looked at.
  session* find_open(session_id id) const {
    auto* s = find(id);
    return s && s->has_ended() ? nullptr : s;
  }
  session& of(session_number n) { return *by_number_[raw(n)]; }
  session const& of(session_number n) const { return *by_number_[raw(n)]; }
  /// The one with its idempotency key, of the same submitter.
  session* find_key(session_spec const& like) const;
  /// In order of their ids.
  std::map<session_id, std::unique_ptr<session>> const& all() const { return sessions_; }
  /// Here or in another table of the server.
  bool was(session_id id) const { return raw(id) != 0 && raw(id) <= wide_.last_session; }
  std::optional<release_note> note_of(session_id id) const;

  /// Says what the session is now. Those of the core's own are no news.
  void tell(session const& s, bool restored = false) {
    if (s.id == session_id{}) return;
    changes_.sessions.push_back({s.id, s.delivery(), s.shown_state(), s.generation, s.sealed,
                                 s.stopping, s.attached, s.closed, restored, s.finished, s.full});
  }
  /// Notes that a closure of the session was sent to a worker. REQUIRES: none was before.
  void note_start(session& s, bool restored = false);
  /// Its state is terminal now: it is the newest of the finished jobs, or of the ended sessions.
  void finished(session& s);
  void forget_finished(session const& s) {
    std::erase(!s.traits().generations ? finished_ : ended_, s.id);
  }
  /// Null when there is none.
  session* pop_oldest_finished() { return pop_oldest(finished_); }
  session* pop_oldest_ended() { return pop_oldest(ended_); }
  std::size_t finished_count() const { return finished_count_; }
  std::size_t ended_count() const { return ended_count_; }
  std::uint64_t jobs(job_state s) const { return jobs_[static_cast<std::size_t>(s)]; }
  /// That have not ended.
  std::uint64_t streams() const { return streams_; }

  /// It is looked at again at the end of the step; once.
  void settle_later(session& s);
  std::vector<session_id> take_unsettled() { return std::exchange(unsettled_, {}); }

  /// It is told to hold back, or needs to no more. REQUIRES: that changes.
  void hold_back(session& s, bool on) {
    s.full = on;
    held_back_ += on ? 1 : ~std::size_t{0};
    tell(s);
  }
  std::size_t held_back() const { return held_back_; }

  /// Empty when all is in order between two steps.
  std::string invalid() const;

 private:
  session& put(session s, bool restored);
  void enlist(session& s);
  session* pop_oldest(std::deque<session_id>& of);

  server_wide& wide_;
  changes& changes_;
  number_pool<session_number> numbers_;
  std::map<session_id, std::unique_ptr<session>> sessions_;
  std::vector<std::unique_ptr<session>> own_;  // of the core
  std::vector<session*> by_number_;
  std::unordered_map<std::string, session_id> by_key_;
  std::deque<session_id> finished_;  // oldest first; may name forgotten ones
  std::size_t finished_count_ = 0;
  std::deque<session_id> ended_;  // streaming sessions; the same
  std::size_t ended_count_ = 0;
  std::uint64_t jobs_[enum_size<job_state>] = {};  // by job_state; finished ones since start
  std::uint64_t streams_ = 0;
  std::size_t held_back_ = 0;
  std::vector<session_id> unsettled_;
  std::unordered_map<session_id, release_note> notes_;  // of sessions that were forgotten lately
  std::deque<session_id> notes_order_;
};

}  // namespace muster::core
