// Performs each step and hands its effects on: replies last, since who gets one may ask again.
#include "server/hub/hub.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "server/core/programs/controller.hpp"
#include "server/core/queries/function_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"

namespace muster::server {

hub::hub(core::config config, hub_dependencies dependencies, log_limits limits)
    : dependencies_(std::move(dependencies)),
      own_wide_(dependencies_.pool.wide ? nullptr
                                        : std::make_unique<core::server_wide>(dependencies_.now())),
      core_(config, dependencies_.now(), own_wide_ ? *own_wide_ : *dependencies_.pool.wide),
      past_(core_.configuration(), own_wide_ ? *own_wide_ : *dependencies_.pool.wide,
            dependencies_.now()),
      logs_(limits, dependencies_.pool.calls_above),
      calls_(dependencies_.pool.calls_above) {}

void hub::close(std::string const& why) {
  muster::status const gone{muster::code::not_found, why};
  auto const left = core_.forget_all();
  if (dependencies_.move_values) dependencies_.move_values(left.values);
  if (!left.jobs.empty()) write_down(left.jobs);
  if (auto const all = core_.programs().forget_all(); core_.configuration().durable && !all.empty())
    dependencies_.write_down_programs(all);
  if (auto* const clusters = dependencies_.coordination)
    for (auto const& f : core_.programs().forget_all())
      clusters->changed(
          {.program = std::get<core::programs::program_gone>(f).program, .gone = true});
  apply(core::stop{why});
  for (auto const& [stream, sink] : std::exchange(workers_, {})) sink->on_disconnect(gone, true);
  for (auto const& [session, served] : std::exchange(sessions_, {})) served.sink->on_gone(gone);
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
    if (auto const from = core_.session_of(input); from != job) batches_.takes(job, {from});
}

void hub::report(core::stream_id stream, log_line line) {
  auto const held = core_.held(stream, line.closure, line.attempt);
  if (!held) return logs_.count_stray();
  line.index = held->index;
  if (logs_.name_of(line.closure).empty())
    logs_.set_name(held->job, line.closure, core_.functions().called(line.closure));
  logs_.add(held->job, std::move(line));
}

void hub::report(core::stream_id stream, core::closure_id closure, closure_progress progress) {
  auto const held = core_.held(stream, closure, progress.attempt);
  if (!held) return logs_.count_stray();
  logs_.set_progress(held->job, closure, std::move(progress));
}

hub::learned hub::learn(std::vector<std::string> names) {
  auto const answer = ask_now(core::learn_functions{{}, std::move(names)});
  return {answer.status, std::get<core::functions_reply>(answer.body).ids};
}

core::stream_id hub::attach(worker_sink& sink) {
  auto const stream = core::stream_id{++last_stream_};
  workers_.emplace(stream, &sink);
  return stream;
}

void hub::tell_attached(core::welcome const& w) {
  auto const& name =
      names_.insert_or_assign(w.stream, w.job + ":" + std::to_string(w.index)).first->second;
  records_.back(now(), name);
  if (!dependencies_.tell) return;
  dependencies_.tell({core::coordination::severity::info, "worker_attached", dependencies_.cluster,
                      name, "attached"});
}

// A worker that is away, or is back already, is spoken of by what listens to the core.
void hub::tell_gone(core::stream_id stream, bool clean, std::string const& reason) {
  auto const node = names_.extract(stream);
  if (!node) return;
  machines_.gone(node.mapped());
  if (!clean && reason != shuts_down) records_.lost(now(), node.mapped(), reason);
  if (!dependencies_.tell) return;
  for (auto const& e : past_.log().said())
    if (e.about == node.mapped()) return;
  using core::coordination::severity;
  dependencies_.tell({clean ? severity::info : severity::warning,
                      clean ? "worker_left" : "worker_lost", dependencies_.cluster, node.mapped(),
                      reason});
}

void hub::pass_on(history::log_event const& e) {
  if (!dependencies_.log) return;
  dependencies_.log({history::severity_of(e.kind), std::string(history::name(e.kind)),
                     dependencies_.cluster, e.about, e.text});
}

void hub::attach(core::session_id session, session_sink& sink) {
  auto& served = sessions_[session];
  if (served.sink) served.sink->on_taken_over();
  served = {&sink, core_.is_durable(session), served.behind};
}

void hub::in_order(core::session_id session, std::function<void()> tell) {
  auto const it = sessions_.find(session);
  if (it == sessions_.end() || !it->second.durable) return tell();
  hold(true, [this, session, tell = std::move(tell)](muster::status const& lost) {
    if (lost.ok()) return tell();
    if (auto const now = sessions_.find(session); now != sessions_.end())
      now->second.sink->on_lost(lost);
  });
}

void hub::when_durable(std::uint64_t batch, std::function<void()> then) {
  if (!dependencies_.commits) return then();
  auto told = [alive = std::weak_ptr(alive_), then = std::move(then)](muster::status const&) {
    if (!alive.expired()) then();
  };
  dependencies_.commits->hold_for(batch, std::move(told));
}

void hub::when_told(core::session_id s, commit_queue::told t) {
  dependencies_.commits ? dependencies_.commits->hold_for(batches_.of(s), std::move(t)) : t({});
}

void hub::when_told(core::closure_id c, commit_queue::told t) {
  if (auto const s = core_.session_of(c); s != core::session_id{})
    return when_told(s, std::move(t));
  dependencies_.commits ? dependencies_.commits->hold(false, std::move(t)) : t({});
}

void hub::when_told(core::per_worker_id, commit_queue::told t) {
  dependencies_.commits ? dependencies_.commits->hold(false, std::move(t)) : t({});
}

void hub::when_told(core::program_id, commit_queue::told t) {
  dependencies_.commits ? dependencies_.commits->hold(false, std::move(t)) : t({});
}

bool hub::must_wait(core::session_id session) const {
  auto const it = sessions_.find(session);
  return it != sessions_.end() && it->second.durable && dependencies_.commits->failed().ok() &&
         !journal_refusal().ok();
}

// Outcomes come in runs of one session, so it is looked up once a run.
void hub::deliver_outcomes(std::vector<core::outcome> const& outcomes, to_sessions* later) {
  served_session* served = nullptr;
  bool wait = false;
  core::session_id of{};
  for (auto const& o : outcomes) {
    if (o.session != of) {
      auto const it = sessions_.find(o.session);
      served = it == sessions_.end() ? nullptr : &it->second;
      wait = later && served && waits(o.session, *served);
      if (wait) served->behind = written();
      of = o.session;
    }
    if (!served) continue;
    if (wait)
      later->outcomes.push_back(o);
    else
      served->sink->on_outcome(o);
  }
}

void hub::deliver_notices(std::vector<core::session_notice> const& notices, bool failed,
                          to_sessions* later) {
  for (auto const& n : notices) {
    if ((n.kind == core::notice_kind::failed) != failed) continue;
    auto const it = sessions_.find(n.session);
    if (it == sessions_.end()) continue;
    auto& served = it->second;
    if (later && waits(n.session, served) && n.kind != core::notice_kind::room) {
      served.behind = written();
      (failed ? later->failures : later->ends).push_back(n);
    } else {
      served.sink->on_notice(n);
    }
  }
}

worker_sink* hub::sink_of(core::stream_id stream) const {
  auto const it = workers_.find(stream);
  return it == workers_.end() ? nullptr : it->second;
}

session_sink* hub::sink_of(core::session_id session) const {
  auto const it = sessions_.find(session);
  return it == sessions_.end() ? nullptr : it->second.sink;
}

void hub::on_deadline() {
  alarm_.on_fired();
  objects_.tick();
  rank_steps_.tick(now());
  doctor_.tick();
  apply(core::tick{});
}

void hub::follow_deadlines() {
  alarm_.follow(std::min({core_.next_deadline(), objects_.due(), rank_steps_.due(), doctor_.due()}),
                dependencies_.arm);
}

// With a disk that has failed even what this step has not changed may rest on what is not there.
void hub::tell(to_sessions const& all, muster::status const& lost) {
  auto const& failed = dependencies_.commits->failed();
  if (lost.ok() && failed.ok()) {
    deliver_notices(all.failures, true, nullptr);
    deliver_outcomes(all.outcomes, nullptr);
    return deliver_notices(all.ends, false, nullptr);
  }
  auto const cut = [&](core::session_id id) {
    if (auto const it = sessions_.find(id); it != sessions_.end()) it->second.sink->on_lost(failed);
  };
  for (auto const& n : all.failures) cut(n.session);
  for (auto const& o : all.outcomes) cut(o.session);
  for (auto const& n : all.ends) cut(n.session);
}

// Replies go last; by then everything else has been handed over. See reply_table.
void hub::deliver(core::effects const& fx) {
  for (auto const& w : fx.welcomes) {
    tell_attached(w);
    if (auto* sink = sink_of(w.stream)) sink->on_welcome(w);
  }
  for (auto const& d : fx.dispatches)
    if (auto* sink = sink_of(d.stream))
      sink->on_dispatch(std::span(fx.assignments).subspan(d.first, d.count));
  for (auto const& s : fx.stop_requests)
    if (auto* sink = sink_of(s.stream)) sink->on_stop(s);
  for (auto const& r : fx.retractions)
    if (auto* sink = sink_of(r.stream)) sink->on_retract(r);
  for (auto const& d : fx.drop_requests)
    if (auto* sink = sink_of(d.stream)) sink->on_drop(d.value);
  for (auto const& d : fx.drain_requests)
    if (auto* sink = sink_of(d.stream)) sink->on_drain();
  for (auto const& d : fx.disconnects) tell_gone(d.stream, false, d.status.message);
  for (auto const& e : past_.log().said()) pass_on(e);
  if (!fx.value_moves.empty() && dependencies_.move_values)
    dependencies_.move_values(fx.value_moves);
  if (dependencies_.made_again)
    for (auto const& v : fx.changes.values)
      if (v.made_again) dependencies_.made_again(v.closure);
  for (auto const& d : fx.disconnects)
    if (auto node = workers_.extract(d.stream)) {
      node.mapped()->on_disconnect(d.status, d.final);
      forget_questions(d.stream);
    }
  bool const changed = !fx.facts.empty();
  if (changed) write_down(fx.facts);
  fold_attempts(fx);
  // Its cluster is there, also on the disk, before the attempt is.
  auto* const clusters = dependencies_.coordination;
  if (clusters)
    for (auto const& o : fx.rank_orders)
      for (auto const& started : o.starts) clusters->begin(*started.sheet);
  if (!fx.program_facts.empty()) dependencies_.write_down_programs(fx.program_facts);
  deliver_orders(fx);
  if (clusters)
    for (auto const& c : fx.changes.programs) clusters->changed(c);
  if (!fx.changes.programs.empty()) doctor_.follow(fx.changes.programs);
  to_sessions later;
  auto* const commits = dependencies_.commits;
  auto* const wait = commits && (changed || !commits->idle()) ? &later : nullptr;
  deliver_notices(fx.notices, true, wait);
  deliver_outcomes(fx.outcomes, wait);
  for (auto const s : fx.released) {
    logs_.release(s);
    batches_.forget(s);
  }
  deliver_notices(fx.notices, false, wait);

  follow_deadlines();
  if (dependencies_.pool.over_budget && core_.values().too_many_bytes_in_server())
    dependencies_.pool.over_budget();
  if (!later.empty())
    hold(changed,
         [this, later = std::move(later)](muster::status const& lost) { tell(later, lost); });
  if (!fx.replies.empty()) answer(fx);
}

void hub::write_down(std::vector<core::fact> const& facts) {
  dependencies_.write_down(facts);
  batches_.wrote(facts);
}

core::session_id hub::opened_by(core::effects const& fx) {
  for (auto const& r : fx.replies)
    if (auto const* made = std::get_if<core::session_reply>(&r.body)) return made->session;
  return {};
}

bool hub::creates_durable(core::open_session const& e) const {
  return core::traits_of(e.spec.delivery).keeps_records &&
         e.spec.durable.value_or(core_.configuration().durable) &&
         !core_.sessions().has_key(e.spec);
}

bool hub::creates_durable(core::submit_program const& e) const {
  return core_.configuration().durable &&
         !core_.programs().has_key(e.spec.submitted_by, e.spec.idempotency_key);
}

namespace {

// Returns whether an answer names a program, or the job or program of an idempotency key. Such an
// answer is wrong if the disk loses what it names.
bool names_created(core::reply const& r) {
  return std::holds_alternative<core::program_reply>(r.body) || r.status.field == "idempotency_key";
}

}  // namespace

// Each waits until the disk has what it may rest on, those of ask_now excepted.
void hub::answer(core::effects const& fx) {
  auto* const commits = dependencies_.commits;
  if (!commits || commits->idle()) return calls_.deliver(fx.replies);
  bool const changed = !fx.facts.empty() || !fx.program_facts.empty();
  auto replies = fx.replies;
  for (auto& r : replies) {
    if (r.call == prompt_) {
      calls_.deliver({std::move(r)});
      continue;
    }
    auto session = calls_.about(r.call);
    if (auto const* of = std::get_if<core::session_reply>(&r.body); of && r.status.ok())
      session = of->session;
    bool const rests_on_it = changed || names_created(r);
    auto told = [this, alive = std::weak_ptr(alive_), r = std::move(r)](auto const& lost) mutable {
      if (alive.expired()) return;
      if (!lost.ok()) r.status = lost, r.body = {};
      calls_.deliver({std::move(r)});
    };
    if (session == core::session_id{})
      commits->hold(rests_on_it, std::move(told));
    else
      commits->hold_for(batches_.of(session), std::move(told));
  }
}

muster::status hub::journal_refusal() const {
  if (!dependencies_.commits) return {};
  if (!dependencies_.commits->failed().ok()) return dependencies_.commits->failed();
  return dependencies_.journal_refusal ? dependencies_.journal_refusal() : muster::status{};
}

}  // namespace muster::server
