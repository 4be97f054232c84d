#include "server/hub/hub.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "server/core/queries/function_queries.hpp"
#include "server/core/queries/value_queries.hpp"

namespace muster::server {

hub::hub(core::config config, hub_dependencies d, log_limits limits)
    : now_(std::move(d.now)),
      arm_(std::move(d.arm)),
      move_values_(std::move(d.move_values)),
      recomputed_(std::move(d.recomputed)),
      over_budget_(std::move(d.pool.over_budget)),
      events_(std::move(d.events)),
      own_wide_(d.pool.wide ? nullptr : std::make_unique<core::server_wide>(now_())),
      core_(config, now_(), own_wide_ ? *own_wide_ : *d.pool.wide),
      history_(core_.configuration(), own_wide_ ? *own_wide_ : *d.pool.wide, now_()),
      logs_(limits, d.pool.calls_above),
      gate_(std::move(d.journal)),
      calls_(d.pool.calls_above),
      programs_(*this, std::move(d.programs)) {}

void hub::close(std::string const& why) {
  muster::status const gone{muster::code::not_found, why};
  auto const left = core_.forget_all();
  if (move_values_) move_values_(left.values);
  gate_.write(left.jobs);
  programs_.close();
  apply(core::stop{why});
  workers_.disconnect_all(gone);
  sessions_.remove_all(gone);
}

void hub::restore(std::vector<core::restored_job> jobs) {
  std::vector<std::pair<core::session_id, core::closure_id>> inputs;
  for (auto const& j : jobs)
    for (auto const& request : j.accepted)
      for (auto const& c : request.closures)
        if (c.extras)
          for (auto const& i : c.extras->inputs) inputs.emplace_back(j.job.id, i.closure);
  apply(core::restore_jobs{std::move(jobs)});
  for (auto const& [job, input] : inputs)
    if (auto const from = core_.session_of(input); from != job) gate_.add_inputs(job, {from});
}

void hub::report(core::stream_id stream, log_line line) {
  auto const held = core_.held(stream, line.closure, line.attempt);
  if (!held) return logs_.count_rejected();
  line.index = held->index;
  if (logs_.name_of(line.closure).empty())
    logs_.set_name(held->job, line.closure, core_.functions().called(line.closure));
  logs_.add(held->job, std::move(line));
}

void hub::report(core::stream_id stream, core::closure_id closure, closure_progress progress) {
  auto const held = core_.held(stream, closure, progress.attempt);
  if (!held) return logs_.count_rejected();
  logs_.set_progress(held->job, closure, std::move(progress));
}

void hub::report(core::stream_id stream, machine seen) {
  if (auto const* const worker = workers_.name(stream))
    machines_.report(*worker, std::move(seen), now());
}

hub::function_numbers hub::learn(std::vector<std::string> names) {
  auto const answer = ask_now(core::learn_functions{{}, std::move(names)});
  return {answer.status, std::get<core::functions_reply>(answer.body).ids};
}

void hub::log_worker_attached(core::welcome const& w) {
  auto const& name = workers_.set_name(w.stream, w.job + ":" + std::to_string(w.index));
  programs_.records().back(now(), name);
  events_.publish(events_.to_feed, event_publisher::severity::info, "worker_attached", name,
                  "attached");
}

// Does not log workers that may return or have already returned; the history logs them.
void hub::log_worker_left(core::stream_id stream, bool clean, std::string const& reason) {
  auto const name = workers_.remove_name(stream);
  if (name.empty()) return;
  machines_.remove_machine(name);
  if (!clean && reason != shutdown_reason) programs_.records().lost(now(), name, reason);
  for (auto const& e : history_.log().pending_events())
    if (e.about == name) return;
  using severity = event_publisher::severity;
  events_.publish(events_.to_feed, clean ? severity::info : severity::warning,
                  clean ? "worker_left" : "worker_lost", name, reason);
}

void hub::on_deadline() {
  alarm_.on_fired();
  objects_.tick();
  programs_.tick();
  apply(core::tick{});
}

void hub::follow_deadlines() {
  alarm_.follow(std::min({core_.next_deadline(), objects_.due(), programs_.due()}), arm_);
}

void hub::finish_step(core::effects const& fx, core::worker_disconnected const* disconnect) {
  if (disconnect) log_worker_left(disconnect->stream, disconnect->clean, disconnect->reason);
  auto of_objects = objects_.changes_of(fx);
  auto const of_steps = rank_steps::changes_of(fx);
  if (disconnect)
    of_objects.lost.push_back(
        {disconnect->stream, disconnect->clean || !disconnect->may_return, disconnect->reason});
  deliver(fx);
  objects_.apply(of_objects);
  programs_.steps().apply(of_steps);
}

// Replies are delivered last, because their handlers can execute the next step.
void hub::deliver(core::effects const& fx) {
  for (auto const& w : fx.welcomes) log_worker_attached(w);
  workers_.deliver(fx);
  for (auto const& d : fx.disconnects) log_worker_left(d.stream, false, d.status.message);
  for (auto const& e : history_.log().pending_events()) events_.publish(e);
  if (!fx.value_moves.empty() && move_values_) move_values_(fx.value_moves);
  if (recomputed_)
    for (auto const& v : fx.changes.values)
      if (v.made_again) recomputed_(v.closure);
  for (auto const& d : fx.disconnects)
    if (auto* const worker = workers_.sink(d.stream)) {
      worker->on_disconnect(d.status, d.final);
      detach(d.stream);
    }
  gate_.write(fx.facts);
  programs_.deliver(fx);
  sessions_.deliver(fx);
  for (auto const s : fx.released) logs_.release(s);
  follow_deadlines();
  if (over_budget_ && core_.values().too_many_bytes_in_server()) over_budget_();
  if (!fx.replies.empty()) answer(fx);
}

namespace {

// Returns whether an answer identifies a program, or an idempotency key's job or program. The
// answer would be wrong if the object's record were lost.
bool names_created(core::reply const& r) {
  return std::holds_alternative<core::program_reply>(r.body) || r.status.field == "idempotency_key";
}

}  // namespace

// Each reply, except a reply to ask_now, waits for the records that it may depend on.
void hub::answer(core::effects const& fx) {
  if (gate_.is_idle()) return calls_.deliver(fx.replies);
  bool const changed = !fx.facts.empty() || !fx.program_facts.empty();
  auto replies = fx.replies;
  for (auto& r : replies) {
    if (r.call == immediate_) {
      calls_.deliver({std::move(r)});
      continue;
    }
    auto session = calls_.about(r.call);
    if (auto const* of = std::get_if<core::session_reply>(&r.body); of && r.status.ok())
      session = of->session;
    bool const may_be_lost = changed || names_created(r);
    auto deliver = [this, r = std::move(r)](muster::status const& lost) mutable {
      if (!lost.ok()) r.status = lost, r.body = {};
      calls_.deliver({std::move(r)});
    };
    gate_.hold(may_be_lost, std::move(deliver), session);
  }
}

}  // namespace muster::server
