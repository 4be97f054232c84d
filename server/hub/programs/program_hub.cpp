#include "server/hub/programs/program_hub.hpp"

#include <utility>

#include "server/core/programs/controller.hpp"
#include "server/hub/hub.hpp"

namespace muster::server {

void program_hub::deliver(core::effects const& fx) {
  record_attempts(fx);
  auto* const clusters = dependencies_.clusters;
  // The cluster must exist, and must be in the journal, before the attempt begins.
  if (clusters)
    for (auto const& o : fx.rank_orders)
      for (auto const& started : o.starts) clusters->begin(*started.sheet);
  if (!fx.program_facts.empty()) dependencies_.write(fx.program_facts);
  deliver_orders(fx);
  if (clusters)
    for (auto const& c : fx.changes.programs) clusters->changed(c);
  if (!fx.changes.programs.empty()) doctor_.update(fx.changes.programs);
}

// The barriers of an attempt are read before its cluster begins the next attempt.
void program_hub::record_attempts(core::effects const& fx) {
  for (auto const& c : fx.changes.programs) {
    if (c.gone) records_.forget(c.program);
    if (c.gone || c.end == core::program_end::none) continue;
    auto late = lateness(c.program, c.attempt);
    records_.over({c.program, c.attempt}, std::move(late.barriers), std::move(late.latecomers));
  }
  for (auto const& o : fx.rank_orders)
    for (auto const& started : o.starts) {
      attempt const which{started.sheet->program, started.sheet->attempt};
      if (records_.knows(which)) continue;
      std::vector<history::black_box::seat> seats;
      if (auto const ranks = hub_.state().programs().ranks(which.program))
        for (auto const& r : *ranks) seats.push_back({r.task, r.worker, r.host});
      records_.begun(which, std::move(seats));
    }
}

// A rank starts once its placement is durable, and a worker discards a rank's end once that end is
// durable. A restarted server therefore knows each rank that can be running, and starts no rank
// twice. After a disk failure, only stop orders are sent.
void program_hub::deliver_orders(core::effects const& fx) {
  for (auto const& o : fx.rank_orders) {
    auto* const worker = hub_.workers().sink(o.stream);
    if (!worker) continue;
    if (hub_.gate().is_idle()) {
      worker->on_rank_orders(o);
      continue;
    }
    if (o.lease > 0) worker->on_rank_orders({.stream = o.stream, .lease = o.lease});
    if (o.stops.empty() && o.forget.empty() && o.starts.empty() && o.prepares.empty()) continue;
    auto rest = o;
    rest.lease = 0;
    hub_.gate().hold(true, [this, rest = std::move(rest)](muster::status const& lost) mutable {
      if (!lost.ok()) rest.starts.clear(), rest.forget.clear(), rest.prepares.clear();
      hub_.workers().send(rest.stream, &rank_sink::on_rank_orders, rest);
    });
  }
}

void program_hub::forget_worker(core::stream_id worker) {
  steps_.forget_worker(worker);
  doctor_.forget_worker(worker);
}

void program_hub::tick() {
  steps_.tick(hub_.now());
  doctor_.tick();
}

void program_hub::close() {
  auto const all = hub_.state().programs().forget_all();
  if (hub_.state().configuration().durable && !all.empty()) dependencies_.write(all);
  if (dependencies_.clusters)
    for (auto const& f : all)
      dependencies_.clusters->changed(
          {.program = std::get<core::programs::program_removed>(f).program, .gone = true});
}

void program_hub::restore(std::vector<core::programs::restored_program> programs) {
  for (auto const& p : programs) {
    if (!p.placement || core::ended(p.course.state)) continue;
    std::vector<history::black_box::seat> seats;
    for (auto const& r : p.placement->ranks) {
      auto const& place = p.placement->places[r.place];
      seats.push_back({p.submitted.spec->tasks[r.group].type + ":" + std::to_string(r.index),
                       place.job + ":" + std::to_string(place.index), place.host});
    }
    records_.begun({p.course.program, p.placement->attempt}, std::move(seats));
  }
  std::vector<core::program_changed> changes;
  for (auto const& p : programs)
    changes.push_back({p.course.program, p.course.state, p.course.attempts, false, {}});
  hub_.apply(core::programs::restore_programs{std::move(programs)});
  for (auto const& c : changes)
    if (auto const ranks = hub_.state().programs().ranks(c.program))
      for (auto const& r : *ranks)
        if (r.started != core::never)
          records_.started(r.started, r.worker, {c.program, c.attempt, r.rank});
  doctor_.update(changes);
  hub_.follow_deadlines();
}

bool program_hub::restore(attempt const& which, core::attempt_record what) {
  auto const all = hub_.state().programs().attempts_of(which.program);
  bool const known = all && std::any_of(all->begin(), all->end(), [&which](auto const& a) {
                       return a.attempt == which.attempt;
                     });
  if (known) records_.restore(which, std::move(what));
  return known;
}

std::vector<std::string> program_hub::refresh_uploads(
    std::function<bool(std::string const&)> const& exists) {
  std::vector<std::string> named;
  core::uploads_present seen;
  bool changed = false;
  for (auto const& [hash, known] : hub_.state().programs().uploads()) {
    bool const there = exists(hash);
    changed = changed || there != known;
    if (there) seen.there.push_back(hash);
    named.push_back(hash);
  }
  if (changed) hub_.apply(seen);
  return named;
}

void program_hub::record(core::rank_reports const& reports) {
  auto const* const worker = hub_.workers().name(reports.stream);
  if (!worker) return;
  for (auto const& s : reports.started) records_.started(hub_.now(), *worker, s.name);
  for (auto const& end : reports.ended) records_.ended(hub_.now(), *worker, end);
}

void program_hub::record_stacks(core::stream_id worker, attempt const& which,
                                std::vector<core::attempt_record::stack> where) {
  if (auto const* const name = hub_.workers().name(worker))
    records_.killed(*name, which, std::move(where));
  write_records();
}

void program_hub::record_event(attempt const& which, core::attempt_record::event what) {
  if (what.at == core::time_point{}) what.at = hub_.now();
  records_.told(which, std::move(what));
  write_records();
}

void program_hub::write_records() {
  if (!records_.has_changes()) return;
  for (auto const& [which, what] : records_.changes())
    if (dependencies_.write_record) dependencies_.write_record(which, what);
}

muster::result<std::string> program_hub::cluster_of(core::program_id program, std::uint32_t attempt,
                                                    std::string_view tunnel_key) const {
  if (!hub_.state().programs().admits(program, attempt, tunnel_key))
    return muster::status{code::permission_denied, "this worker runs no rank of attempt " +
                                                       std::to_string(attempt) + " of " +
                                                       core::text(program)};
  auto name = cluster_of(program);
  if (name.empty())
    return muster::status{code::not_found, core::text(program) + " has no coordination cluster"};
  return name;
}

void program_hub::inspect_cluster(core::program_id program, std::vector<std::uint32_t> const& ranks,
                                  doctor::look& into) const {
  if (dependencies_.clusters) dependencies_.clusters->inspect(program, ranks, into);
}

program_clusters::lateness program_hub::lateness(core::program_id program,
                                                 std::uint32_t attempt) const {
  std::vector<std::uint32_t> training;
  auto const ranks = hub_.state().programs().ranks(program);
  if (!ranks || !dependencies_.clusters) return {};
  for (auto const& r : *ranks)
    if (program_clusters::trains(r)) training.push_back(r.rank);
  return dependencies_.clusters->late(program, attempt, training);
}

}  // namespace muster::server
