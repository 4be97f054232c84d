// Field by field; an enum's number is its position, which never changes.
#include "server/journal/closure_words.hpp"

namespace muster::server::journal {

void encode(core::failure const& f, wire::Failure& into) {
  into.set_kind(static_cast<std::uint32_t>(f.kind));
  into.set_type(f.type);
  into.set_message(f.message);
  into.set_traceback(f.traceback);
  into.set_worker(f.worker);
  into.set_attempt(f.attempt);
  for (auto const& d : f.dependencies) into.add_dependencies(d);
  into.set_exception(f.exception);
}

core::failure decoded(wire::Failure const& w, bool& ok) {
  ok = ok && w.kind() <= static_cast<std::uint32_t>(core::failure_kind::input);
  return {static_cast<core::failure_kind>(w.kind()),
          w.type(),
          w.message(),
          w.traceback(),
          w.worker(),
          w.attempt(),
          {w.dependencies().begin(), w.dependencies().end()},
          w.exception()};
}

void encode(core::closure_extras const& x, wire::Extras& into) {
  auto const& o = x.options;
  into.set_priority(o.priority);
  into.set_delay(o.delay.count());
  into.set_deadline(o.deadline.count());
  into.set_max_retries(o.max_retries);
  into.set_retry_initial(o.retry_initial.count());
  into.set_retry_max(o.retry_max.count());
  into.set_gang(o.gang);
  into.set_task_job(o.task_job);
  into.set_task_index(o.task_index);
  for (auto const& [name, value] : o.labels) {
    auto& l = *into.add_labels();
    l.set_name(name);
    l.set_value(value);
  }
  for (auto const& [name, amount] : o.resources) {
    auto& l = *into.add_resources();
    l.set_name(name);
    l.set_amount(amount);
  }
  for (auto const& i : x.inputs) {
    auto& input = *into.add_inputs();
    input.set_closure(raw(i.closure));
    input.set_offset(i.offset);
  }
  for (auto const id : x.per_worker) into.add_per_worker(raw(id));
}

core::closure_extras decoded(wire::Extras const& w) {
  core::closure_extras x;
  auto& o = x.options;
  o.priority = w.priority();
  o.delay = core::duration(w.delay());
  o.deadline = core::duration(w.deadline());
  o.max_retries = w.max_retries();
  o.retry_initial = core::duration(w.retry_initial());
  o.retry_max = core::duration(w.retry_max());
  o.gang = w.gang();
  o.task_job = w.task_job();
  o.task_index = w.task_index();
  for (auto const& l : w.labels()) o.labels.emplace_back(l.name(), l.value());
  for (auto const& l : w.resources()) o.resources.emplace_back(l.name(), l.amount());
  for (auto const& i : w.inputs())
    x.inputs.push_back({core::closure_id{i.closure()}, 0, i.offset()});
  for (auto const id : w.per_worker()) x.per_worker.push_back(core::per_worker_id{id});
  return x;
}

namespace {
/// Returns what an attempt is blamed for that ended so, unless its entry says otherwise.
core::blame usual_blame(core::attempt_end how) {
  bool const counts =
      how == core::attempt_end::worker_lost || how == core::attempt_end::stale_handle;
  return counts ? core::blame::worker : core::blame::none;
}
}  // namespace

void encode(core::attempt_view const& a, wire::Attempt& into) {
  into.set_attempt(a.attempt);
  into.set_worker(a.worker);
  into.set_incarnation(raw(a.incarnation));
  into.set_host(a.host);
  into.set_started(us(a.started));
  into.set_ended(us(a.ended));
  into.set_outcome(a.outcome.detail);
  if (a.blamed != usual_blame(a.outcome.how))
    into.set_blamed(static_cast<std::uint32_t>(a.blamed) + 1);
  if (a.outcome.how == core::attempt_end::earlier) return;
  into.set_end(static_cast<std::uint32_t>(a.outcome.how));
  into.set_again(raw(a.outcome.again));
}

core::attempt_view decoded(wire::Attempt const& w, bool& ok) {
  using core::attempt_end;
  ok = ok && w.end() <= static_cast<std::uint32_t>(attempt_end::earlier) &&
       w.blamed() <= static_cast<std::uint32_t>(core::blame::process) + 1;
  bool const text_alone = w.end() == 0 && !w.outcome().empty();
  auto const how = text_alone ? attempt_end::earlier : static_cast<attempt_end>(w.end());
  return {w.attempt(),
          w.worker(),
          core::incarnation{w.incarnation()},
          w.host(),
          time(w.started()),
          time(w.ended()),
          {how, w.outcome(), core::closure_id{w.again()}},
          w.blamed() == 0 ? usual_blame(how) : static_cast<core::blame>(w.blamed() - 1)};
}

void encode(core::job_fact const& f, wire::DurableJob& into) {
  auto const& s = f.spec;
  into.set_name(s.name);
  into.set_continue_on_error(s.on_error == core::on_error::continue_all);
  into.set_open(s.open);
  into.set_queue_capacity(s.queue_capacity);
  into.set_max_worker_failures(s.max_worker_failures);
  into.set_unlimited_worker_failures(s.unlimited_worker_failures);
  into.set_weight(s.weight);
  into.set_deadline(s.deadline.count());
  into.set_idempotency_key(s.idempotency_key);
  into.set_request_digest(s.request_digest);
  into.set_metadata(s.metadata);
  into.set_submitted_by(s.submitted_by);
  into.set_retry_of(raw(s.retry_of));
  into.set_require_function(s.require_function);
  into.set_num_workers(s.num_workers);
  into.set_state(static_cast<std::uint32_t>(f.state));
  into.set_sealed(f.sealed);
  into.set_stopping(f.stopping);
  into.set_user_cancelled(f.user_cancelled);
  if (f.first_error) encode(*f.first_error, *into.mutable_error());
  into.set_created(us(f.created));
  into.set_finished(us(f.finished));
  if (s.delivery == core::delivery::job) return;
  into.set_delivery(s.delivery == core::delivery::resumable ? 1 : 2);
  into.set_grace(s.grace.count());
  into.set_detached(s.detached);
  into.set_closed(f.closed);
  into.set_generation(f.generation);
  if (f.raised) encode(*f.raised, *into.mutable_raised());
  into.set_raised_generation(f.raised_generation);
  into.set_client(f.client);
}

core::job_fact decoded(core::session_id job, wire::DurableJob const& w, bool& ok) {
  ok = ok && w.state() <= static_cast<std::uint32_t>(core::job_state::cancelled) &&
       w.weight() >= 1 && w.weight() <= 1'000 && w.delivery() <= 2;
  core::job_fact f;
  f.id = job;
  auto& s = f.spec;
  s.name = w.name();
  s.on_error = w.continue_on_error() ? core::on_error::continue_all : core::on_error::fail_fast;
  s.open = w.open();
  s.queue_capacity = w.queue_capacity();
  s.max_worker_failures = w.max_worker_failures();
  s.unlimited_worker_failures = w.unlimited_worker_failures();
  s.weight = w.weight();
  s.deadline = core::duration(w.deadline());
  s.idempotency_key = w.idempotency_key();
  s.request_digest = w.request_digest();
  s.metadata = w.metadata();
  s.submitted_by = w.submitted_by();
  s.retry_of = core::session_id{w.retry_of()};
  s.require_function = w.require_function();
  s.num_workers = w.num_workers();
  s.durable = true;
  f.state = static_cast<core::job_state>(w.state());
  f.sealed = w.sealed();
  f.stopping = w.stopping();
  f.user_cancelled = w.user_cancelled();
  if (w.has_error()) f.first_error = decoded(w.error(), ok);
  f.created = time(w.created());
  f.finished = time(w.finished());
  if (w.delivery() == 0) return f;
  ok = ok && f.state == core::job_state::running && w.generation() >= 1;
  s.delivery = w.delivery() == 1 ? core::delivery::resumable : core::delivery::unary;
  s.grace = core::duration(w.grace());
  s.detached = w.detached();
  f.closed = w.closed();
  f.generation = w.generation();
  if (w.has_raised()) f.raised = decoded(w.raised(), ok);
  f.raised_generation = w.raised_generation();
  f.client = w.client();
  return f;
}

}  // namespace muster::server::journal
