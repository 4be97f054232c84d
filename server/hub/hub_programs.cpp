// What a hub does about programs beside the core: their ranks' logs and last lines, orders to their
// workers, and the records of their attempts; and where workers' processes are.
#include <algorithm>
#include <utility>

#include "server/core/programs/controller.hpp"
#include "server/hub/hub.hpp"

namespace muster::server {

std::vector<std::string> hub::look_for_uploads(
    std::function<bool(std::string const&)> const& is_there) {
  std::vector<std::string> named;
  core::uploads_seen seen;
  bool news = false;
  for (auto const& [hash, known] : core_.programs().uploads()) {
    bool const there = is_there(hash);
    news = news || there != known;
    if (there) seen.there.push_back(hash);
    named.push_back(hash);
  }
  if (news) apply(seen);
  return named;
}

void hub::read_log(rank_log_query query, rank_logs::handler done) {
  auto const stream = core_.programs().worker_of(query.rank);
  if (!stream) return done(stream.error());
  auto const sink = workers_.find(*stream);
  if (sink == workers_.end())
    return done(muster::status{code::unavailable, "its worker is away; ask again"});
  query.number = rank_logs_.expect(*stream, std::move(done));
  if (query.number != 0) sink->second->on_log_query(query);
}

void hub::look_at_lines(last_lines::attempt_asked const& of, std::function<void()> done) {
  auto const worker = [&](std::uint32_t rank) {
    auto const stream = core_.programs().worker_of({of.program, of.attempt, rank});
    return stream ? *stream : core::stream_id{};
  };
  auto const ask = [this](core::stream_id stream, last_lines_query const& q) {
    auto const sink = workers_.find(stream);
    if (sink == workers_.end()) return false;
    sink->second->on_lines_query(q);
    return true;
  };
  last_lines_.look(now(), of, worker, ask, std::move(done));
}

std::uint64_t hub::read_stack(std::string_view task, worker_questions<task_stack>::handler done) {
  auto const it = std::find_if(names_.begin(), names_.end(),
                               [task](auto const& named) { return named.second == task; });
  auto* const sink = it == names_.end() ? nullptr : sink_of(it->first);
  if (!sink) {
    done(muster::status{code::not_found, "no worker " + std::string(task) + " is attached"});
    return 0;
  }
  auto const number = stack_questions_.expect(it->first, std::move(done));
  if (number != 0) sink->on_stack_query(number);
  return number;
}

muster::result<std::string> hub::cluster_of(core::program_id program, std::uint32_t attempt,
                                            std::string_view tunnel_key) const {
  if (!core_.programs().admits(program, attempt, tunnel_key))
    return muster::status{code::permission_denied, "this worker runs no rank of attempt " +
                                                       std::to_string(attempt) + " of " +
                                                       core::text(program)};
  auto name = coordination_cluster(program);
  if (name.empty())
    return muster::status{code::not_found, core::text(program) + " has no coordination cluster"};
  return name;
}

void hub::look_at_cluster(core::program_id program, std::vector<std::uint32_t> const& tasks,
                          doctor::look& into) const {
  if (dependencies_.coordination) dependencies_.coordination->look(program, tasks, into);
}

void hub::log(core::coordination::severity s, std::string kind, std::string about,
              std::string text) {
  if (!dependencies_.log) return;
  dependencies_.log({s, std::move(kind), dependencies_.cluster, std::move(about), std::move(text)});
}

// A rank is started once its placement is on the disk, and its end is forgotten by its worker once
// that is: so a server that starts anew knows of each that may run, and starts none twice. With a
// disk that has failed only stops go out.
void hub::deliver_orders(core::effects const& fx) {
  auto* const commits = dependencies_.commits;
  for (auto const& o : fx.rank_orders) {
    auto const it = workers_.find(o.stream);
    if (it == workers_.end()) continue;
    if (!commits || commits->idle()) {
      it->second->on_rank_orders(o);
      continue;
    }
    if (o.lease > 0) it->second->on_rank_orders({.stream = o.stream, .lease = o.lease});
    if (o.stops.empty() && o.forget.empty() && o.starts.empty() && o.prepares.empty()) continue;
    auto rest = o;
    rest.lease = 0;
    hold(true, [this, rest = std::move(rest)](muster::status const& lost) mutable {
      if (!lost.ok()) rest.starts.clear(), rest.forget.clear(), rest.prepares.clear();
      if (auto const now = workers_.find(rest.stream); now != workers_.end())
        now->second->on_rank_orders(rest);
    });
  }
}

program_clusters::lateness hub::lateness_of(core::program_id program, std::uint32_t attempt) const {
  std::vector<std::uint32_t> training;
  auto const ranks = core_.programs().ranks(program);
  if (!ranks || !dependencies_.coordination) return {};
  for (auto const& r : *ranks)
    if (program_clusters::trains(r)) training.push_back(r.rank);
  return dependencies_.coordination->late(program, attempt, training);
}

// What an attempt was is asked before its cluster has the next one.
void hub::fold_attempts(core::effects const& fx) {
  for (auto const& c : fx.changes.programs) {
    if (c.gone) records_.forget(c.program);
    if (c.gone || c.end == core::program_end::none) continue;
    auto late = lateness_of(c.program, c.attempt);
    records_.over({c.program, c.attempt}, std::move(late.barriers), std::move(late.latecomers));
  }
  for (auto const& o : fx.rank_orders)
    for (auto const& started : o.starts) {
      history::black_box::name const which{started.sheet->program, started.sheet->attempt};
      if (records_.knows(which)) continue;
      std::vector<history::black_box::seat> seats;
      auto const ranks = core_.programs().ranks(which.program);
      if (ranks)
        for (auto const& r : *ranks) seats.push_back({r.task, r.worker, r.host});
      records_.begun(which, std::move(seats));
    }
}

void hub::fold(core::rank_reports const& r) {
  auto const worker = names_.find(r.stream);
  if (worker == names_.end()) return;
  for (auto const& s : r.started) records_.started(now(), worker->second, s.name);
  for (auto const& end : r.ended) records_.ended(now(), worker->second, end);
}

void hub::fold(core::stream_id stream, std::vector<core::rank_end> const& ended) {
  core::rank_reports const told{.stream = stream, .ended = ended};
  fold(told);
  if (!ended.empty()) rank_steps_.ended(told);
}

std::vector<core::rank_end> hub::ends_in(core::worker_attached const& e) {
  std::vector<core::rank_end> all;
  if (!e.programs) return all;
  for (auto const& h : e.programs->held)
    if (h.ended) all.push_back(*h.ended);
  return all;
}

void hub::forget_questions(core::stream_id stream) {
  rank_logs_.gone(stream);
  last_lines_.gone(stream);
  rank_stacks_.gone(stream);
  rank_steps_.gone(stream);
  doctor_.gone(stream);
  stack_questions_.gone(stream);
}

void hub::report(core::stream_id stream, machine seen) {
  auto const worker = names_.find(stream);
  if (worker == names_.end()) return;
  machines_.report(worker->second, std::move(seen), now());
}

void hub::killed(core::stream_id stream, history::black_box::name const& which,
                 std::vector<core::attempt_record::stack> where) {
  auto const worker = names_.find(stream);
  if (worker != names_.end()) records_.killed(worker->second, which, std::move(where));
  write_records();
}

void hub::note(history::black_box::name const& which, core::attempt_record::event what) {
  if (what.at == core::time_point{}) what.at = now();
  records_.told(which, std::move(what));
  write_records();
}

void hub::write_records() {
  if (!records_.has_changes()) return;
  for (auto const& [which, what] : records_.changes())
    if (dependencies_.write_record) dependencies_.write_record(which, what);
}

void hub::restore(std::vector<core::programs::restored_program> programs) {
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
  apply(core::programs::restore_programs{std::move(programs)});
  for (auto const& c : changes)
    if (auto const ranks = core_.programs().ranks(c.program))
      for (auto const& r : *ranks)
        if (r.started != core::never)
          records_.started(r.started, r.worker, {c.program, c.attempt, r.rank});
  doctor_.follow(changes);
  follow_deadlines();
}

bool hub::restore(history::black_box::name const& which, core::attempt_record what) {
  auto const all = core_.programs().attempts_of(which.program);
  bool const known = all && std::any_of(all->begin(), all->end(), [&which](auto const& a) {
                       return a.attempt == which.attempt;
                     });
  if (known) records_.restore(which, std::move(what));
  return known;
}

}  // namespace muster::server
