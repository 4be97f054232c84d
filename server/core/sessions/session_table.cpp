#include "server/core/sessions/session_table.hpp"

#include <algorithm>

namespace muster::core {

namespace {
// Keys include the submitter, so that users cannot find each other's jobs.
std::string key_of(session_spec const& s) {
  return s.submitted_by + '\0' + s.idempotency_key;
}
}  // namespace

void session::take(session_spec s, config const& c) {
  capacity = s.queue_capacity == 0 ? c.queue_capacity : s.queue_capacity;
  bool const own_limit = s.unlimited_worker_failures || s.max_worker_failures > 0;
  max_worker_failures = s.unlimited_worker_failures ? 0
                        : own_limit                 ? s.max_worker_failures
                                                    : c.max_worker_failures;
  ignores_lost_workers = !own_limit && traits_of(s.delivery).generations;
  spec = std::move(s);
}

void session_table::enlist(session& s) {
  if (raw(s.number) >= by_number_.size()) by_number_.resize(raw(s.number) + std::size_t{1});
  by_number_[raw(s.number)] = &s;
  if (!s.spec.idempotency_key.empty()) by_key_.emplace(key_of(s.spec), s.id);
}

session& session_table::open_own(delivery d) {
  auto& s = *own_.emplace_back(std::make_unique<session>());
  s.number = numbers_.take();
  s.spec.delivery = d;
  s.spec.on_error = on_error::continue_all;
  enlist(s);
  return s;
}

session& session_table::add(session s) {
  check(s.id == next_id(), "session ids must be consecutive");
  return put(std::move(s), false);
}

session& session_table::put(session s, bool restored) {
  wide_.last_session = std::max(wide_.last_session, raw(s.id));
  s.number = numbers_.take();
  auto const unfinished = s.started ? job_state::running : job_state::queued;
  ++(!s.traits().generations ? jobs_[static_cast<std::size_t>(unfinished)] : streams_);
  auto const id = s.id;
  auto const state = std::exchange(s.state, job_state::running);
  auto& added = *sessions_.emplace(id, std::make_unique<session>(std::move(s))).first->second;
  enlist(added);
  added.state = state;
  changes_.names.push_back({id, added.spec.name});
  report_change(added, restored);
  if (added.terminal()) finished(added);
  return added;
}

void session_table::erase(session& s, release_reason why, time_point now, std::uint64_t values) {
  if (!s.spec.idempotency_key.empty()) by_key_.erase(key_of(s.spec));
  if (s.has_ended())
    --ended_count_;
  else if (s.traits().generations)
    --streams_;
  else if (s.terminal())
    --finished_count_;
  if (why != release_reason::session_end) {
    notes_.emplace(s.id, release_note{why, now});
    notes_order_.push_back(s.id);
    if (notes_order_.size() > notes_max) {
      notes_.erase(notes_order_.front());
      notes_order_.pop_front();
    }
  }
  changes_.sessions_released.push_back({s.id, why, values});
  by_number_[raw(s.number)] = nullptr;
  numbers_.give_back(s.number);
  sessions_.erase(s.id);
}

session* session_table::find_key(session_spec const& like) const {
  auto const it = by_key_.find(key_of(like));
  return it == by_key_.end() ? nullptr : find(it->second);
}

std::optional<release_note> session_table::note_of(session_id id) const {
  auto const it = notes_.find(id);
  return it == notes_.end() ? std::nullopt : std::optional(it->second);
}

void session_table::note_start(session& s, bool restored) {
  s.started = true;
  if (s.id == session_id{} || s.traits().generations || s.terminal()) return;
  --jobs_[static_cast<std::size_t>(job_state::queued)];
  ++jobs_[static_cast<std::size_t>(job_state::running)];
  report_change(s, restored);
}

void session_table::finished(session& s) {
  if (s.traits().generations) {
    --streams_, ++ended_count_;
    ended_.push_back(s.id);
    return;
  }
  --jobs_[static_cast<std::size_t>(s.started ? job_state::running : job_state::queued)];
  ++jobs_[static_cast<std::size_t>(s.state)];
  finished_.push_back(s.id);
  ++finished_count_;
}

session* session_table::pop_oldest(std::deque<session_id>& of) {
  while (!of.empty()) {
    auto* s = find(of.front());
    of.pop_front();
    if (s) return s;
  }
  return nullptr;
}

void session_table::settle_later(session& s) {
  if (std::exchange(s.unsettled, true)) return;
  unsettled_.push_back(s.id);
}

std::string session_table::invalid() const {
  std::size_t held_back = 0, streams = 0, finished = 0, ended = 0;
  for (auto const& [id, s] : sessions_) {
    if (by_number_[raw(s->number)] != s.get()) return text(id) + " cannot be found by its number";
    if (s->traits().resumable && !s->attached && !s->closed && s->lease_alarm == never)
      return text(id) + " has neither a client nor a lease";
    if (s->terminal() && !s->joins.empty())
      return text(id) + " has ended but calls are still waiting for it";
    if (s->unsettled) return text(id) + " is still unsettled at the end of a step";
    held_back += s->full;
    ended += s->has_ended(), streams += s->traits().generations && !s->has_ended();
    finished += !s->traits().generations && s->terminal();
  }
  if (held_back != held_back_ || streams != streams_ || finished != finished_count_ ||
      ended != ended_count_)
    return "the session counts do not match the sessions";
  return unsettled_.empty() ? std::string() : "a session is still unsettled at the end of a step";
}

}  // namespace muster::core
