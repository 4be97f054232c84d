#include "server/core/closures/closure_book.hpp"

#include <map>

#include "base/utf8.hpp"

namespace muster::core {

namespace {

template <class Counted>
std::uint64_t& counter(Counted& counted, closure_state s) {
  switch (s) {
    case closure_state::running:
      return counted.running;
    case closure_state::succeeded:
      return counted.succeeded;
    case closure_state::failed:
      return counted.failed;
    case closure_state::cancelled:
      return counted.cancelled;
    default:
      return counted.queued;
  }
}

}  // namespace

template <class Change>
void closure_book::count(closure_record const& r, Change change) {
  auto& t = tallies_[r.owner];
  bool const blocked = r.phase == closure_phase::blocked;
  change(blocked ? t.counts.blocked : counter(t.counts, r.state()));
  change(blocked ? counts_.blocked : counter(counts_, r.state()));
  if (r.sent()) change(t.counts.sent), change(counts_.sent);
  if (r.deferred()) change(deferred_);
  auto& f = functions[r.function];
  change(r.deferred() ? f.waiting : counter(f, r.state()));
}

void closure_book::leave(closure_record const& r) {
  count(r, [](std::uint64_t& n) { --n; });
}

void closure_book::enter(closure_record const& r) {
  count(r, [](std::uint64_t& n) { ++n; });
}

void closure_book::change(slot c, closure_phase to, move_reason why) {
  auto& r = records_[c];
  leave(r);
  r.phase = to;
  enter(r);
  report_move(c, why);
}

std::uint32_t closure_book::append_failure(failure const& f) {
  // Keeps the beginning of a message and the end of a traceback.
  constexpr std::size_t text_max = 4096;
  auto const first = [](std::string const& text) { return shortened(text, text_max); };
  auto const last = [](std::string const& text) {
    return text.size() <= text_max ? text
                                   : "…" + text.substr(utf8_boundary(text, text.size() - text_max));
  };
  core::failure told{
      f.kind, first(f.type), first(f.message), last(f.traceback), first(f.worker), f.attempt, {},
      {}};
  // Consecutive closures with the same failed input share one failure entry.
  if (changes_.failures.empty() || changes_.failures.back() != told)
    changes_.failures.push_back(std::move(told));
  return static_cast<std::uint32_t>(changes_.failures.size() - 1);
}

void closure_book::start(slot c, time_point at) {
  check(records_[c].sent(), "a closure must be sent to a worker before it starts");
  records_[c].started = at;
  change(c, closure_phase::running, move_reason::started);
}

void closure_book::stop(slot c) {
  change(c, closure_phase::prefetched, move_reason::preempted);
}

void closure_book::requeue(slot c, requeue_cause why) {
  auto& r = records_[c];
  auto& t = tallies_[r.owner];
  check(r.worker != worker_number{}, "only a closure that was sent to a worker can be requeued");
  if (std::exchange(answered_, no_slot) == c)
    report_attempt(c, attempt_end::failed, r.started, answered_at_);
  r.worker = {};
  r.reported = r.retracted = r.noted = false;
  bool const retract = why == requeue_cause::retract;
  r.attempt -= retract;  // a retracted closure was not attempted
  change(c, closure_phase::queued,
         retract                       ? move_reason::retracted
         : why == requeue_cause::retry ? move_reason::retried
                                       : move_reason::worker_lost);
  if (retract) return;
  bool const retry = why == requeue_cause::retry;
  ++(retry ? t.retried : t.requeued);
  ++(retry ? retried_ : requeued_);
}

void closure_book::report_attempt(slot c, attempt_end how, time_point started, time_point ended) {
  auto const& r = records_[c];
  changes_.attempts.push_back({records_.id_of(c), tallies_[r.owner].id, started, ended, r.function,
                               r.attempt, r.worker, how});
}

void closure_book::report_release(slot c, release_reason why) {
  auto& r = changes_.released.emplace_back();
  outline(c, r.of);
  r.why = why;
}

void closure_book::withdraw(slot c) {
  check(records_[c].is(closure_phase::queued), "only a queued closure can be withdrawn");
  leave(records_[c]);
  report_release(c, release_reason::client);
}

void closure_book::take_over(slot c, worker_number w) {
  records_[c].worker = w;
  report_move(c, move_reason::taken_over);
}

void closure_book::block(slot c) {
  change(c, closure_phase::blocked, move_reason::waits_for_input);
}

void closure_book::unblock(slot c) {
  change(c, closure_phase::queued, move_reason::ready);
}

void closure_book::defer(slot c, bool for_gang) {
  if (for_gang)
    change(c, closure_phase::gathering, move_reason::waits_to_gather);
  else
    change(c, closure_phase::delayed, move_reason::waits_for_start);
}

void closure_book::end_deferral(slot c) {
  change(c, closure_phase::queued, move_reason::ready);
}

std::string closure_book::invalid() const {
  closure_counts live;
  std::map<session_number, closure_counts> by_session;
  std::map<session_number, std::uint32_t> own_errors;
  std::size_t alive = 0, deferred = 0;
  std::string wrong;
  records_.for_each([&](slot c, closure_record const& r) {
    ++alive, deferred += r.deferred();
    if (!tallies_.contains(r.owner)) {
      wrong = "a closure belongs to a session that does not exist";
      return;
    }
    for (auto* counted : {&live, &by_session[r.owner]}) {
      counted->blocked += r.state() == closure_state::blocked;
      counted->queued += r.state() == closure_state::queued;
      counted->running += r.state() == closure_state::running;
      counted->sent += r.sent();
    }
    own_errors[r.owner] += r.own_error && !core::ended(r.phase);
    if (r.state() == closure_state::blocked && (!r.details || r.details->inputs_missing == 0))
      wrong = text(records_.id_of(c)) + " is BLOCKED although all its inputs are available";
    if ((r.is(closure_phase::running) || r.sent()) != (r.worker != worker_number{}))
      wrong =
          "a running closure has no worker, or a closure that is neither running nor sent has a "
          "worker";
  });
  auto const differ = [](closure_counts const& l, closure_counts const& r) {
    return l.blocked != r.blocked || l.queued != r.queued || l.running != r.running ||
           l.sent != r.sent;
  };
  if (alive != records_.size()) wrong = "the closure count does not match the closures";
  if (deferred != deferred_) wrong = "the count of deferred closures does not match the closures";
  if (differ(live, counts_)) wrong = "the counts of unfinished closures do not match the closures";
  tallies_.for_each([&](session_number n, tally const& t) {
    if (differ(by_session[n], t.counts))
      wrong = "the counts of a session do not match its closures";
    if (own_errors[n] != t.own_errors)
      wrong = "a session's count of closures with errors of their own does not match its closures";
    if (t.keeps_order && t.counts.total() != t.closures.size())
      wrong = "a job's counts do not match its list of closures";
  });
  return wrong;
}

}  // namespace muster::core
