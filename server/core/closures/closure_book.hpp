// The states of closures, and their counts in total, by session and by function. Only this class
// changes a state, so the counts always match. States:
//
//   create ──► QUEUED ──send──► prefetched ──start──► RUNNING ──finish──► SUCCEEDED | FAILED | …
//               ▲ │ ▲            │      ▲               │ │
//               │ │ └─requeue────┴──────┼────requeue────┘ │
//               │ │                     └─────stop────────┘
//       unblock │ ▼ block, defer
//            waits for an input, a time or its gang
//
// A prefetched closure counts as QUEUED: a worker has received it, but no slot executes it yet.
//
// Callers update queues and workers after a change. Used only on the engine thread. Callers enforce
// config::closures_max; the function table enforces config::functions_max.
#pragma once

#include "server/core/api/changes.hpp"
#include "server/core/api/views.hpp"
#include "server/core/closures/function_table.hpp"
#include "server/core/common/numbered.hpp"
#include "server/core/records/closure_table.hpp"

namespace muster::core {

class closure_book {
 public:
  struct tally {
    closure_counts counts;
    std::uint64_t requeued = 0;
    std::uint64_t retried = 0;
    std::uint32_t scheduled = 0;
    std::uint32_t own_errors = 0;  // unfinished closures with closure_spec::own_error
    bool keeps_order = false;
    session_id id{};             // no value for a session of the core itself
    std::vector<slot> closures;  // ordered by position; filled only if keeps_order is set

    std::uint64_t waiting() const { return counts.queued - counts.sent + counts.blocked; }
    std::uint64_t held() const { return counts.running + counts.sent; }
    std::uint64_t unfinished() const { return waiting() + held(); }
  };
  struct ended {
    bool was_held = false;
  };
  enum class requeue_cause : std::uint8_t { loss, retry, retract };

  closure_book(closure_table& records, config const& c, changes& out)
      : functions(c, out), records_(records), changes_(out) {}

  void open(session_number n, session_id id, bool keeps_order) {
    auto& t = tallies_.open(n);
    t.id = id;
    t.keeps_order = keeps_order;
  }
  void close(session_number n) { tallies_.close(n); }
  tally const& of(session_number n) const { return tallies_[n]; }

  slot create(session_number n, closure_spec& spec, std::uint32_t queue, time_point now);
  /// While enabled, changes are marked as restored, so that readers do not count restored closures
  /// as new.
  void restoring(bool on) { restoring_ = on; }
  /// Sets the position of the session's next closure. REQUIRES: the position is unused.
  void continue_at(session_number n, std::uint32_t order) { tallies_[n].scheduled = order; }
  /// Creates a closure in a record that is already allocated.
  void create_in(slot c, session_number n, closure_spec& spec, std::uint32_t queue, time_point now);
  /// Assigns a closure to a worker. `runs` is true if the worker executes the closure immediately,
  /// and false if it prefetches the closure.
  void send(slot c, worker_number w, bool runs, time_point now);
  void start(slot c, time_point at);
  /// Marks a RUNNING closure as prefetched, because no slot has executed it since dispatch.
  void stop(slot c);
  /// Resets a closure that a worker holds to the state QUEUED.
  void requeue(slot c, requeue_cause why);
  /// Removes an interrupted build, which does not count in any state. REQUIRES: the build was
  /// requeued and is in no list.
  void withdraw(slot c);
  void take_over(slot c, worker_number w);
  void report_move(slot c, move_reason why);
  void block(slot c);
  void unblock(slot c);
  void defer(slot c, bool for_gang);
  void end_deferral(slot c);
  /// REQUIRES: `as` is a final state.
  ended finish(slot c, closure_state as, time_point now);
  /// Reports that the record is removed while its session still exists.
  [[gnu::always_inline]] void release(slot c, release_reason why) {
    if (!changes_.ended.empty() && changes_.ended.back().of.closure == records_.id_of(c))
      changes_.ended.back().released = true;
    else
      report_release(c, why);
  }
  /// Records that the worker executed the closure until `now`. The next finish or requeue reports
  /// the attempt.
  void answered(slot c, time_point now) { answered_ = c, answered_at_ = now; }
  /// Reports an attempt whose times are now known more exactly, or whose worker has been declared
  /// lost. REQUIRES: a worker holds the closure.
  void report_attempt(slot c, attempt_end how, time_point started, time_point ended);

  closure_counts const& counts() const { return counts_; }
  /// Returns the number of closures that wait only for a worker.
  std::uint64_t for_workers() const { return counts_.queued + counts_.blocked - deferred_; }
  std::uint64_t requeued() const { return requeued_; }
  std::uint64_t retried() const { return retried_; }
  void count_aborted() { ++aborted_; }
  std::uint64_t aborted() const { return aborted_; }

  function_table functions;

  std::string invalid() const;

 private:
  template <class Change>
  void count(closure_record const& r, Change change);
  void change(slot c, closure_phase to, move_reason why);
  void outline(slot c, closure_outline& into);
  void report_release(slot c, release_reason why);
  std::uint32_t append_failure(failure const& f);
  void leave(closure_record const& r);
  void enter(closure_record const& r);

  closure_table& records_;
  changes& changes_;
  slot answered_ = no_slot;
  time_point answered_at_{};
  bool restoring_ = false;
  numbered<session_number, tally> tallies_;
  closure_counts counts_;
  // Number of blocked closures, and of closures that wait for a time, a gang or a free worker.
  std::uint64_t deferred_ = 0;
  std::uint64_t requeued_ = 0;
  std::uint64_t retried_ = 0;
  std::uint64_t aborted_ = 0;
};

// Inline, because these functions run for every closure, and a call has a measurable cost.

[[gnu::always_inline]] inline void closure_book::outline(slot c, closure_outline& into) {
  auto const& r = records_[c];
  into.closure = records_.id_of(c);
  into.session = tallies_[r.owner].id;
  into.created = r.created;
  into.started = r.started;
  into.finished = r.finished;
  into.function = r.function;
  into.order = r.order;
  into.attempt = r.attempt;
  into.place = r.place;
  into.as = r.state();
  if (into.as != closure_state::succeeded && r.details)
    into.failure = append_failure(r.details->failure);
}

[[gnu::always_inline]] inline void closure_book::report_move(slot c, move_reason why) {
  auto const& r = records_[c];
  changes_.moved.push_back({records_.id_of(c), r.attempt, r.worker, r.phase, why});
}

[[gnu::always_inline]] inline void closure_book::create_in(slot c, session_number n,
                                                           closure_spec& spec, std::uint32_t queue,
                                                           time_point now) {
  auto& t = tallies_[n];
  auto& r = records_[c];
  r.args = std::move(spec.args);
  r.token = spec.token;
  r.created = now;
  r.order = t.scheduled++;
  r.queue = queue;
  r.own_error = spec.own_error;
  t.own_errors += r.own_error;
  r.function = spec.callable == 0 ? spec.function : function_id{spec.callable};
  r.phase = closure_phase::queued;
  if (t.keeps_order) t.closures.push_back(c);
  changes_.created.emplace_back(records_.id_of(c), t.id, r.order, r.function, restoring_);
  ++t.counts.queued, ++counts_.queued, ++functions[r.function].queued;
}

[[gnu::always_inline]] inline slot closure_book::create(session_number n, closure_spec& spec,
                                                        std::uint32_t queue, time_point now) {
  slot const c = records_.allocate(n);
  create_in(c, n, spec, queue, now);
  return c;
}

[[gnu::always_inline]] inline void closure_book::send(slot c, worker_number w, bool runs,
                                                      time_point now) {
  auto& r = records_[c];
  check(r.phase == closure_phase::queued, "only a queued closure can be dispatched");
  r.worker = w;
  r.started = now;
  ++r.attempt;
  auto& t = tallies_[r.owner];
  r.phase = runs ? closure_phase::running : closure_phase::prefetched;
  if (!runs) return static_cast<void>((++t.counts.sent, ++counts_.sent));
  auto& f = functions[r.function];
  --t.counts.queued, --counts_.queued, --f.queued;
  ++t.counts.running, ++counts_.running, ++f.running;
}

[[gnu::always_inline]] inline closure_book::ended closure_book::finish(slot c, closure_state as,
                                                                       time_point now) {
  auto& r = records_[c];
  auto const by = r.worker;
  ended const was{by != worker_number{}};
  auto& t = tallies_[r.owner];
  auto& f = functions[r.function];
  if (r.phase == closure_phase::running)
    --t.counts.running, --counts_.running, --f.running;
  else if (was.was_held)
    --t.counts.sent, --counts_.sent, --t.counts.queued, --counts_.queued, --f.queued;
  else
    leave(r);
  t.own_errors -= r.own_error;
  r.reported = r.retracted = false;
  r.worker = {};
  r.phase = phase_of(as);
  r.finished = now;
  auto const tally_up = [as](auto& counted) {
    ++(as == closure_state::succeeded ? counted.succeeded
       : as == closure_state::failed  ? counted.failed
                                      : counted.cancelled);
  };
  tally_up(t.counts);
  tally_up(counts_);
  tally_up(f);
  auto& e = changes_.ended.emplace_back();
  outline(c, e.of);
  e.of.as = as;
  if (answered_ == c) e.worker = by;
  e.restored = restoring_;
  answered_ = no_slot;
  return was;
}

}  // namespace muster::core
