// Processes server messages and starts new streams, on the engine thread.
#include "client/coordinator/coordinator_session.hpp"

#include <algorithm>

#include "client/session/session_link.hpp"

namespace muster::detail {
namespace {

template <class Records, class Wanted>
std::vector<std::uint64_t> tokens_of(Records const& records, Wanted wanted) {
  std::vector<std::uint64_t> tokens;
  for (auto const& [token, r] : records)
    if (wanted(r)) tokens.push_back(token);
  std::sort(tokens.begin(), tokens.end());
  return tokens;
}

auto const has_not_ended = [](closure_record const& r) { return !r.ended; };

}  // namespace

void coordinator_session::append_open() {
  auto& open = *out_.tail().mutable_open();
  open.set_hold_values(true);
  open.set_report_queue(queue_.is_wanted());
  open.set_queue_capacity(options_.queue_capacity);
  if (!id_.empty()) {
    open.set_resume(id_);
    open.set_resume_incarnation(incarnation_);
    for (auto const& [token, r] : records_) open.add_resume_token(token);
    for (auto const& [token, b] : per_worker_values_) open.add_resume_per_worker(token);
    return;
  }
  fill_open(open, options_);
  open.set_session_grace_ms(static_cast<std::uint64_t>(options_.session_grace.count()));
  open.set_detached(options_.detached);
  open.set_weight(options_.weight);
  if (options_.durable) open.set_durable(*options_.durable);
}

// Resends all unfinished calls. The server recognises tokens that it has already received.
void coordinator_session::append_all() {
  for (auto const& name : names_) out_.tail().add_function_name(std::string(name));
  for (auto const token :
       tokens_of(per_worker_values_, [](auto const& b) { return !b.answered(); }))
    append_built(token, per_worker_values_.at(token));
  auto const unfinished = tokens_of(records_, has_not_ended);
  std::uint64_t gang = 0;  // the gang whose remaining calls are being resent
  for (auto const token : unfinished) {
    auto const& r = records_.at(token);
    if (gang != r.gang && gang != 0) out_.end_group();
    if (gang != r.gang && r.gang != 0) out_.begin_group();
    gang = r.gang;
    append(token, r);
  }
  if (gang != 0) out_.end_group();
  for (auto const token : unfinished) {
    auto const& r = records_.at(token);
    if (r.cancelled) out_.add_entry(9).add_cancel_token(token);
    if (r.references == 0) append_release(token);
  }
}

void coordinator_session::connected() {
  lock held(mutex_);
  out_ = {};
  out_generation_ = 0;
  queue_.begin_stream();
  append_open();
  append_all();
  if (closing_ && !options_.detached) out_.tail().set_close(true);
  streaming_ = true;
  signalled_ = cancel_sent_ = false;
  tasks_reported_lost_.clear();
  takes_objects_ = objects_turn_ = false;
}

void coordinator_session::append(std::uint64_t token, closure_record const& r) {
  if (r.generation != out_generation_) out_.seal();
  out_generation_ = r.generation;
  writer_.write(out_.add_entry(closure_writer::bytes_of(r)), token, r);
  queue_.add();
}

void coordinator_session::append_built(std::uint64_t token, per_worker_record const& b) {
  auto& p = *out_.add_entry(b.args.size() + 24).add_per_worker();
  p.set_token(token);
  p.set_function(b.function);
  p.set_args(b.args);
}

void coordinator_session::append_release(std::uint64_t token) {
  if (!ended_ && (streaming_ || !out_.empty())) out_.add_entry(9).add_release_token(token);
}

std::string coordinator_session::take(v1::SessionResponse const& m) {
  if (auto wrong = wrong_columns(m, true); !wrong.empty()) return wrong;
  if (m.has_opened()) begin_objects_on_stream(m.opened());
  if (m.has_objects()) objects_->take(m.objects());
  lock held(mutex_);
  if (m.has_opened()) {
    take_opened(m.opened());
    incarnation_ = m.opened().server_incarnation();
    server_supports_submit_ = m.opened().own_errors();
    // An older server treats calls submitted before this answer as scheduled calls.
    if (!server_supports_submit_)
      for (auto& [token, r] : records_)
        if (r.generation == 0) r.generation = generation_.number();
    // The cancellation may have been lost with the old stream. If the cancellation arrived, the
    // generation has changed.
    if (generation_.cancelling() && !cancel_sent_ &&
        m.opened().generation() == generation_.number()) {
      cancel_sent_ = true;
      append_cancel();
    }
  }
  queue_.take(m);
  process_notices(m, v1::Notice::FAILED);
  process_created(m);
  process_outcomes(m);
  process_notices(m, v1::Notice::DRAINED);
  if (!out_.empty() || m.has_opened()) wake();
  changed(held);
  return {};
}

void coordinator_session::process_notices(v1::SessionResponse const& m, v1::Notice::Kind kind) {
  for (auto const& notice : m.notice())
    if (notice.kind() == kind) generation_.take(notice);
}

void coordinator_session::process_created(v1::SessionResponse const& m) {
  for (auto const& p : m.per_worker()) {
    auto const it = per_worker_values_.find(p.token());
    if (it == per_worker_values_.end() || it->second.answered()) continue;  // duplicate
    auto& b = it->second;
    if (p.has_failure())
      b.error = std::make_unique<failure>(from_wire(p.failure()));
    else
      b.value = p.value();
    b.args = {};
    if (b.references > 0) continue;
    ++b.references;
    unreference_built(p.token());
  }
}

void coordinator_session::process_outcomes(v1::SessionResponse const& m) {
  for_each_outcome(m, [&](int i, value_view value, v1::Failure const* why) {
    auto const it = records_.find(m.token(i));
    if (it == records_.end() || it->second.ended) return;  // duplicate
    auto& r = it->second;
    r.closure = m.closure(i);
    if (why) {
      r.error = std::make_unique<failure>(from_wire(*why));
      if (r.generation != 0) generation_.note(*r.error);
    } else {
      r.output = {std::string(value.bytes), value.encoding};
    }
    end_one(m.token(i), r);
  });
}

void coordinator_session::end_one(std::uint64_t token, closure_record& r) {
  r.ended = true;
  --unfinished_;
  for (auto const& weak : join_targets_)
    if (auto const c = weak.lock(); c && token <= c->last_token) --c->left;
  for (auto& w : std::exchange(r.waiters, {})) ready_.push_back(std::move(w));
  r.args = {};
  r.options.reset();
  if (r.error || !r.output.bytes.starts_with("{\"$blob\":")) r.contents.clear();
  auto const inputs = std::exchange(r.inputs, {});
  auto const built = std::exchange(r.per_worker, {});
  if (r.references == 0) forget(token);
  for (auto const& used : inputs)
    if (used.token != 0) unreference(used.token);
  for (auto const& used : built)
    if (used.token != 0) unreference_built(used.token);
}

void coordinator_session::forget(std::uint64_t token) {
  records_.erase(token);
  append_release(token);
}

void coordinator_session::unreference(std::uint64_t token) {
  auto& r = records_.at(token);
  if (--r.references > 0) return;
  if (r.ended)
    forget(token);
  else
    append_release(token);
}

// If a value is released before the server has answered, its record is kept until the server's
// answer, which contains the number to release.
void coordinator_session::unreference_built(std::uint64_t token) {
  auto& b = per_worker_values_.at(token);
  if (--b.references > 0 || (!b.answered() && !ended_)) return;
  if (b.value != 0 && streaming_ && !ended_) out_.add_entry(9).add_release_per_worker(b.value);
  per_worker_values_.erase(token);  // without a stream, resuming the session omits the value
}

void coordinator_session::ended(std::string const& reason) {
  lock held(mutex_);
  streaming_ = false;
  ended_ = true;
  if (!closing_) reason_ = reason;
  failure const why{closing_ ? failure_kind::cancelled : failure_kind::dependency_lost,
                    "muster::cluster_coordinator",
                    closing_ ? "the coordinator was closed" : reason_};
  for (auto const token : tokens_of(records_, has_not_ended)) {
    auto& r = records_.at(token);
    r.error = std::make_unique<failure>(why);
    end_one(token, r);
  }
  generation_.settle();
  out_ = {};
  link_.reset();
  auto const said = why.message;
  changed(held);
  objects_->end(said);
}

}  // namespace muster::detail
