#include "server/hub/programs/rank_steps.hpp"

#include <algorithm>
#include <utility>

#include "server/core/programs/controller.hpp"
#include "server/hub/hub.hpp"

namespace muster::server {

rank_steps::rank_steps(hub& of)
    : hub_(of),
      log_(of.now()),
      stops_({[this](core::stream_id s, doctor::hold_steps const& h) {
                return hub_.workers().send(s, &rank_sink::on_hold_steps, h);
              },
              [this](core::stream_id s, doctor::stop_after const& w) {
                hub_.workers().send(s, &rank_sink::on_stop_after, w);
              }}) {}

void rank_steps::restore(doctor::step_segment const& recorded) {
  auto const p = hub_.state().programs().find(recorded.program);
  if (!p || p->attempt != recorded.attempt || core::ended(p->state)) return;
  auto& last = recorded_[{recorded.program, recorded.attempt}];
  doctor::unpack(recorded.bytes, recorded.first,
                 [&](doctor::step_span const& s) { last[s.rank] = s; });
}

// The clocks of two server processes differ by less than `apart`. A rank takes longer than that to
// restart its step count.
void rank_steps::drop_recorded(attempt const& of, std::vector<doctor::step_span>& spans) const {
  constexpr core::duration apart = std::chrono::seconds(1);
  auto const known = recorded_.find(of);
  if (known == recorded_.end()) return;
  std::erase_if(spans, [&](doctor::step_span& s) {
    auto const it = known->second.find(s.rank);
    if (it == known->second.end() || s.ended > it->second.ended + apart) return false;
    if (s.step <= it->second.step) return true;
    auto const fresh = s.step - it->second.step;
    if (fresh >= s.count) return false;
    s.took = s.took * static_cast<std::int64_t>(fresh) / static_cast<std::int64_t>(s.count);
    s.count = static_cast<std::uint32_t>(fresh);
    return false;
  });
}

void rank_steps::record(core::stream_id stream, doctor::step_table::report what) {
  auto const& programs = hub_.state().programs();
  auto const p = programs.find(what.program);
  if (!p || p->attempt != what.attempt) return;
  std::erase_if(what.ranks, [&](auto const& r) {
    return hub_.workers().stream_of({what.program, what.attempt, r.rank}) != stream;
  });
  if (what.ranks.empty()) return;
  bool first = false;
  auto spans = table_.reported(hub_.now(), what, [&] {
    first = true;
    std::vector<doctor::rank_place> places;
    if (auto const all = programs.ranks(what.program))
      for (auto const& r : *all)
        places.push_back({r.host, r.task.substr(0, r.task.find(':')), r.worker});
    return places;
  });
  drop_recorded({what.program, what.attempt}, spans);
  log_.add(hub_.now(), what.program, what.attempt, spans);
  // Ranks of programs with a step pattern cannot be stopped at a step.
  if (!first || !p->spec.step_pattern.empty()) return;
  core::program_steps_reported some{what.program, what.attempt, {}, {}};
  some.what = core::program_steps_reported::kind::some;
  hub_.apply(some);
  recall_agreement(*p);
  if (auto const step = stops_.agreed(p->id, p->attempt))
    for (auto const w : workers_of({p->id, p->attempt}))
      hub_.workers().send(w, &rank_sink::on_stop_after, {p->id, p->attempt, step});
  else
    renew_agreement(p->id);
  // The worker may have been asked to leave before it reported a step of this attempt.
  for (auto const w : workers_of({p->id, p->attempt}))
    if (draining_.contains(w)) preempt(w, {p->id, p->attempt});
  send_decisions();
}

// When all ranks that report steps have ended, the remaining ranks must be stopped.
void rank_steps::record_ends(core::rank_reports const& reports) {
  std::set<attempt> touched;
  for (auto const& e : reports.ended) touched.emplace(e.name.program, e.name.attempt);
  auto const& programs = hub_.state().programs();
  for (auto const& [program, number] : touched) {
    auto const p = programs.find(program);
    if (!p || p->attempt != number) continue;
    recall_agreement(*p);
    auto const all = programs.ranks(program);
    if (!all || !stops_.agreed(program, number)) continue;
    bool silent = false, others = false;
    for (auto const& r : *all) {
      if (r.ended != core::never) continue;
      (table_.progress(program, number, r.rank) ? others : silent) = true;
    }
    if (others || !silent) continue;
    if (p->state == core::program_state::running)
      hub_.ask(core::change_program{{}, program, core::program_command::stop}, [](auto const&) {});
    else
      decisions_.push_back({program, number, core::program_steps_reported::kind::none, {}});
  }
  send_decisions();
}

void rank_steps::resume_worker(core::stream_id stream) {
  auto const& programs = hub_.state().programs();
  for (auto const& [program, number] : table_.attempts()) {
    auto const step = stops_.agreed(program, number);
    if (!step) {
      renew_agreement(program);
      continue;
    }
    auto const all = programs.ranks(program);
    if (!all) continue;
    for (auto const& r : *all) {
      if (hub_.workers().stream_of({program, number, r.rank}) != stream) continue;
      hub_.workers().send(stream, &rank_sink::on_stop_after, {program, number, step});
      break;
    }
  }
}

rank_steps::changes rank_steps::changes_of(core::effects const& fx) {
  changes found;
  for (auto const& d : fx.drain_requests) found.drained.push_back(d.stream);
  for (auto const& o : fx.rank_orders)
    for (auto const& s : o.stops)
      if (s.by_step) found.noticed.emplace_back(s.program, s.attempt);
  for (auto const& c : fx.changes.programs) {
    if (c.gone) found.forgotten.push_back(c.program);
    if (!c.gone && c.state == core::program_state::running) found.running.push_back(c.program);
  }
  return found;
}

void rank_steps::apply(changes const& c) {
  for (auto const program : c.forgotten) {
    table_.forget(program);
    log_.forget(program);
    stops_.forget(program);
  }
  for (auto const program : c.running) renew_agreement(program);
  for (auto const stream : c.drained) drain_worker(stream);
  for (auto const& [program, number] : std::set<attempt>(c.noticed.begin(), c.noticed.end()))
    stops_.begin(
        hub_.now(), program, number, 0, workers_of({program, number}),
        [this, program = program, number = number](auto const& step) {
          if (!step)
            decisions_.push_back({program, number, core::program_steps_reported::kind::none, {}});
        });
  send_decisions();
}

void rank_steps::drain_worker(core::stream_id stream) {
  draining_.insert(stream);
  for (auto const& of : table_.attempts()) preempt(stream, of);
}

// A program with a requested stop continues to that step. Without an agreement, the worker
// eventually stops its ranks with a signal.
void rank_steps::preempt(core::stream_id leaving, attempt const& of) {
  auto const& programs = hub_.state().programs();
  auto const p = programs.find(of.first);
  auto const all = programs.ranks(of.first);
  if (!p || !all || p->attempt != of.second || p->state != core::program_state::running) return;
  if (!p->spec.step_pattern.empty()) return;
  if (p->stop_at && p->stop_at->attempt == of.second) return;
  auto const there = std::find_if(all->begin(), all->end(), [&](auto const& r) {
    return r.ended == core::never &&
           hub_.workers().stream_of({of.first, of.second, r.rank}) == leaving;
  });
  if (there == all->end()) return;
  auto done = [this, of, who = there->worker](auto const& step) {
    if (!step) return;
    decisions_.push_back(
        {of.first, of.second, core::program_steps_reported::kind::preempted,
         who + " is leaving; all ranks were asked to stop after step " + std::to_string(*step)});
  };
  stops_.begin(hub_.now(), of.first, of.second, 0, workers_of(of), std::move(done));
}

void rank_steps::send_decisions() {
  for (auto const& said : std::exchange(decisions_, {})) hub_.apply(said);
}

void rank_steps::tick(core::time_point now) {
  stops_.tick(now);
  send_decisions();
}

std::set<core::stream_id> rank_steps::workers_of(attempt const& of) const {
  std::set<core::stream_id> workers;
  if (auto const all = hub_.state().programs().ranks(of.first))
    for (auto const& r : *all)
      if (r.ended == core::never)
        workers.insert(hub_.workers().stream_of({of.first, of.second, r.rank}));
  return workers;
}

void rank_steps::stop(core::program_id program, std::uint64_t least,
                      doctor::step_stops::handler done) {
  auto const p = hub_.state().programs().find(program);
  if (!p) return done(p.error());
  if (p->state != core::program_state::running)
    return done(muster::status{muster::code::failed_precondition,
                               core::text(program) + " is " + std::string(core::name(p->state)) +
                                   ": only a RUNNING program can stop at a step"});
  if (!p->spec.step_pattern.empty())
    return done(muster::status{muster::code::failed_precondition,
                               core::text(program) +
                                   " has a step_pattern: its ranks only print their "
                                   "steps, and cannot be asked to stop at one"});
  recall_agreement(*p);
  auto noted = [this, program, number = p->attempt, done = std::move(done)](auto const& step) {
    if (!step) return done(step);
    core::change_program kept{{}, program, core::program_command::stop_at, {number, *step}};
    hub_.ask(std::move(kept),
             [done, step](core::reply const& r) { r.status.ok() ? done(step) : done(r.status); });
  };
  stops_.begin(hub_.now(), program, p->attempt, least, workers_of({program, p->attempt}),
               std::move(noted));
  hub_.follow_deadlines();
}

void rank_steps::recall_agreement(core::program_view const& p) {
  if (p.stop_at && p.stop_at->attempt == p.attempt && !stops_.agreed(p.id, p.attempt))
    stops_.remember(p.id, p.attempt, p.stop_at->step);
}

void rank_steps::renew_agreement(core::program_id program) {
  auto const p = hub_.state().programs().find(program);
  if (!p || !p->stop_at || p->stop_at->attempt == p->attempt) return;
  if (p->state != core::program_state::running || !table_.whole(program, p->attempt, false)) return;
  stop(program, p->stop_at->step, [](auto const&) {});
}

void rank_steps::fill(core::program_view& p, bool slow_ranks) const {
  auto const all = table_.whole(p.id, p.attempt, slow_ranks);
  if (!all) return;
  auto& view = p.steps.emplace();
  view.least = all->least;
  view.most = all->most;
  view.ranks = all->ranks;
  view.took = all->took;
  view.stop_after = stops_.agreed(p.id, p.attempt);
  if (p.stop_at && p.stop_at->attempt == p.attempt) view.stop_after = p.stop_at->step;
  for (auto const& s : all->slow_ones)
    view.slow_ones.push_back({s.what.rank, s.host, s.worker, s.what.chronic, s.what.arrives_late,
                              s.what.permille, s.attempts, s.runs, s.what.step, s.what.took,
                              s.what.usual, s.what.times});
}

void rank_steps::fill(core::program_id program, std::uint32_t attempt,
                      std::vector<core::rank_view>& ranks) const {
  for (auto& r : ranks)
    if (auto const known = table_.find(program, attempt, r.rank)) {
      r.step = known->step;
      r.step_reached = known->reached;
      r.step_took = known->took;
    }
}

}  // namespace muster::server
