// Every change takes the closure out of the counts of its old state and into those of its new one.
#include "server/core/closures/closure_book.hpp"

#include <map>

namespace muster::core {

namespace {

// Of closure_counts, and of a function_entry for all but what waits.
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

void closure_book::change(slot c, closure_phase to) {
  auto& r = records_[c];
  leave(r);
  r.phase = to;
  enter(r);
}

void closure_book::start(slot c, time_point at) {
  check(records_[c].sent(), "what starts was sent");
  records_[c].started = at;
  change(c, closure_phase::running);
}

void closure_book::stop(slot c) {
  change(c, closure_phase::prefetched);
}

void closure_book::back(slot c, back_for why) {
  auto& r = records_[c];
  auto& t = tallies_[r.owner];
  check(r.worker != worker_number{}, "what comes back was sent");
  change(c, closure_phase::queued);
  r.worker = {};
  r.reported = r.recalled = r.noted = false;
  if (why == back_for::recall) {
    --r.attempt;  // it was none
    return;
  }
  bool const retry = why == back_for::retry;
  ++(retry ? t.retried : t.put_back);
  ++(retry ? retried_ : put_back_);
}

void closure_book::block(slot c) {
  change(c, closure_phase::blocked);
}

void closure_book::unblock(slot c) {
  change(c, closure_phase::queued);
}

void closure_book::defer(slot c, bool for_gang) {
  change(c, for_gang ? closure_phase::gathering : closure_phase::delayed);
}

void closure_book::end_deferral(slot c) {
  change(c, closure_phase::queued);
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
      wrong = "a closure belongs to a session that is gone";
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
      wrong = text(records_.id_of(c)) + " is blocked and misses no input";
    if ((r.is(closure_phase::running) || r.sent()) != (r.worker != worker_number{}))
      wrong = "a running closure has no worker, or one that neither runs nor was sent has one";
  });
  auto const differ = [](closure_counts const& l, closure_counts const& r) {
    return l.blocked != r.blocked || l.queued != r.queued || l.running != r.running ||
           l.sent != r.sent;
  };
  if (alive != records_.size()) wrong = "closures are counted wrongly";
  if (deferred != deferred_) wrong = "closures that wait for no worker are counted wrongly";
  if (differ(live, counts_)) wrong = "unfinished closures are counted wrongly";
  tallies_.for_each([&](session_number n, tally const& t) {
    if (differ(by_session[n], t.counts)) wrong = "closures of a session are counted wrongly";
    if (own_errors[n] != t.own_errors) wrong = "errors of closures' own are counted wrongly";
    if (t.keeps_order && t.counts.total() != t.closures.size())
      wrong = "a job counts other closures than it keeps";
  });
  return wrong;
}

}  // namespace muster::core
