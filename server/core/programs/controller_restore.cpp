// Restores programs from their facts. The workers of living ranks are disconnected. A rank
// continues if its worker reconnects and still runs the rank. A rank whose order the worker never
// received is ordered again. A rank is dead when its worker's lease has expired.
#include <algorithm>
#include <utility>

#include "base/host_port.hpp"
#include "server/core/programs/controller.hpp"
#include "server/core/programs/course.hpp"

namespace muster::core::programs {

namespace {

void limit_times(time_point now, restored_program& p) {
  limit_to(now, p.submitted.created, p.course.finished);
  p.course.not_before =
      std::min(p.course.not_before, now + pause_after_quick_ends(p.course.quick_ends));
  for (auto& a : p.attempts) limit_to(now, a.begun, a.running_since, a.ended);
  for (auto& r : p.ended) limit_to(now, r.started, r.ended);
}

}  // namespace

void attempts::restore(program& p, placement_fact const& where, std::vector<rank_fact> const& ended,
                       time_point now) {
  auto& a = p.now;
  auto sheet = std::make_shared<attempt_sheet>();
  sheet->spec = p.spec;
  sheet->program = p.id;
  sheet->restart = p.attempts - 1;
  sheet->attempt = p.attempts;
  sheet->own_service = where.own_service;
  sheet->meeting_point = where.meeting_point;
  sheet->tunnels = where.tunnels;
  sheet->store = where.store;
  for (auto const& seat : where.ranks) {
    auto const& at = where.places[seat.place];
    auto const& group = p.spec->tasks[seat.group];
    auto& r = a.ranks.emplace_back();
    r.group = seat.group;
    r.index = seat.index;
    r.process = at.incarnation;
    r.port = static_cast<std::uint16_t>(seat.port);
    r.serves = serves(*p.spec, group.type, seat.index);
    r.seen.rank = static_cast<std::uint32_t>(a.ranks.size() - 1);
    r.seen.task = group.type + ":" + std::to_string(seat.index);
    r.seen.worker = at.job + ":" + std::to_string(at.index);
    r.seen.host = at.host;
    r.seen.address = host_port{at.address, std::to_string(r.port)}.text();
    r.seen.resources = group.resources;
    sheet->tasks.push_back({seat.group, seat.index, r.seen.address});
  }
  a.sheet = std::move(sheet);
  for (auto const& f : ended) {
    auto& r = a.ranks[f.name.rank];
    r.alive = false;
    r.well = f.well;
    r.started = f.not_started.empty();
    a.started += r.started;
    r.seen.state = f.state;
    r.seen.pid = f.pid;
    r.seen.started = f.started;
    r.seen.ended = f.ended;
    r.seen.exit_status = f.exit_status;
    r.seen.signal = f.signal;
    r.seen.not_started = f.not_started;
    r.seen.out_of_memory = f.out_of_memory;
  }
  for (std::uint32_t i = 0; i < a.ranks.size(); ++i) {
    auto& r = a.ranks[i];
    if (!r.alive) continue;
    ++a.alive;
    r.restored = true;
    auto const& at = where.places[where.ranks[i].place];
    r.on = hosts_.restore(at, now);
    hosts_.give(r.on, {p.id, p.attempts, i});
    ports_.claim(at.address, r.port);
  }
  if (a.alive == 0) return;
  a.ports = where.ports;
  for (auto const& [address, port] : a.ports) ports_.claim(address, port);
}

void controller::restore(time_point now, std::vector<restored_program>& all) {
  std::vector<program*> over;
  for (auto& was : all) {
    limit_times(now, was);
    program p;
    p.id = was.submitted.program;
    p.spec = std::move(was.submitted.spec);
    p.created = was.submitted.created;
    auto& c = was.course;
    p.state = c.state;
    p.goal = c.goal;
    p.attempts = c.attempts;
    p.counted_restarts = c.counted_restarts;
    p.quick_ends = c.quick_ends;
    p.failures.insert(c.failures.begin(), c.failures.end());
    p.cause = std::move(c.cause);
    p.finished = c.finished;
    p.not_before = c.not_before;
    p.stop_at = c.stop_at;
    if (!was.attempts.empty()) {
      p.now.about = std::move(was.attempts.back());
      was.attempts.pop_back();
      for (auto& about : was.attempts) p.before.push_back({std::move(about), {}});
      p.now.hang = std::move(c.hang);
    }
    if (was.placement) attempts_.restore(p, *was.placement, was.ended, now);
    if (!ended(p.state)) p.deadline = p.asked_to_end();
    last_ = std::max(last_, raw(p.id));
    auto& added = table_.add(std::move(p));
    if (added.deadline != never)
      alarms_.set(added.deadline, program_alarm::deadline, raw(added.id));
    if (ended(added.state))
      over.push_back(&added);
    else if (added.attempts > 0)
      placer_.restored(added);
  }
  std::sort(over.begin(), over.end(),
            [](auto const* a, auto const* b) { return a->finished < b->finished; });
  std::vector<program_id> gone;
  for (auto const* p : over) table_.finished(*p, gone);
  for (auto const id : gone) out_.changes.push_back({.program = id, .gone = true});
  placer_.look_again();
}

}  // namespace muster::core::programs
