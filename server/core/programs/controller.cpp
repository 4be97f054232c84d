#include "server/core/programs/controller.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "server/core/api/idempotency.hpp"

namespace muster::core::programs {

result<program_reply> controller::submit(time_point now, program_spec spec) {
  if (spec.name.empty()) spec.name = text(program_id{last_ + 1});
  if (auto wrong = valid(spec, limits_); !wrong.ok()) return wrong;
  if (auto const* known = table_.with_key(spec.submitted_by, spec.idempotency_key)) {
    if (auto reused =
            same_request(text(known->id), known->spec->request_digest, spec.request_digest);
        !reused.ok())
      return reused;
    return program_reply{known->id, false};
  }
  if (auto full = table_.room(); !full.ok()) return full;
  program p;
  p.id = program_id{++last_};
  p.created = now;
  p.upload_there = true;
  p.spec = std::make_shared<program_spec const>(std::move(spec));
  p.deadline = p.asked_to_end();
  auto& added = table_.add(std::move(p));
  if (added.deadline != never) alarms_.set(added.deadline, program_alarm::deadline, raw(added.id));
  course_.enter(added, program_state::pending);
  placer_.look_again();
  return program_reply{added.id, true};
}

status controller::wish(time_point now, change_program const& what) {
  auto* p = table_.find(what.program);
  if (!p) return {code::not_found, "there is no program " + text(what.program)};
  placer_.look_again();
  return course_.wish(*p, what, now);
}

controller::found controller::alive_on(host const& h, rank_name const& name) {
  if (!h.alive.contains(name)) return {};
  return {table_.find(name.program), name.rank};
}

// Keeps only ranks whose resources can be reserved again; the worker kills the other ranks. Repeats
// stop orders, which may have been lost with the stream.
std::vector<std::uint32_t> controller::attached(time_point now, arrival const& who,
                                                programs_offer const& offer) {
  auto const n = hosts_.attach(who, offer, now);
  placer_.look_again();
  std::vector<std::uint32_t> kept;
  std::vector<rank_name> held;
  for (auto const rank : std::vector(hosts_.at(n).alive.begin(), hosts_.at(n).alive.end()))
    attempts_.rank_disconnected(*table_.find(rank.program), rank.rank);
  for (std::uint32_t i = 0; i < offer.held.size(); ++i) {
    auto const& r = offer.held[i];
    auto const [p, rank] = alive_on(hosts_.at(n), r.name);
    if (!p) continue;
    held.push_back(r.name);
    // The rank may have started while the worker was disconnected and could not report the start.
    if (r.pid != 0 && r.ended) started(now, hosts_.at(n), {r.name, r.pid, r.not_preloaded});
    if (r.ended) {
      course_.rank_dead(*p, rank, *r.ended, now);
      kept.push_back(i);
      out_.to(who.stream).forget.push_back(r.name);
    } else if (attempts_.retake_resources(*p, rank)) {
      kept.push_back(i);
      if (r.pid != 0) started(now, hosts_.at(n), {r.name, r.pid, r.not_preloaded});
      if (p->goal != goal::run) attempts_.stop_again(*p, rank, now);
    }
  }
  absent(now, n, held);
  return kept;
}

// Handles ranks that the worker no longer has. These ranks never started or are dead, because a
// worker never forgets a living rank.
void controller::absent(time_point now, host_number n, std::vector<rank_name> const& held) {
  auto const alive = hosts_.at(n).alive;
  std::vector<rank_name> fresh;
  for (auto const& name : alive) {
    if (std::find(held.begin(), held.end(), name) != held.end()) continue;
    auto* p = table_.find(name.program);
    if (!p->now.ranks[name.rank].started && p->goal == goal::run &&
        attempts_.retake_resources(*p, name.rank)) {
      fresh.push_back(name);
      continue;
    }
    rank_end gone{.name = name, .lease_ran_out = true};
    course_.rank_dead(*p, name.rank, gone, now);
  }
  // This loop is last, because a dead rank may have ended the attempt, and stop orders precede
  // start orders.
  for (auto const& name : fresh)
    if (auto* p = table_.find(name.program); p->goal == goal::run)
      attempts_.order_again(*p, name.rank);
    else
      course_.rank_dead(*p, name.rank, {.name = name, .lease_ran_out = true}, now);
}

void controller::worker_disconnected(time_point now, stream_id stream) {
  auto const* h = hosts_.find(stream);
  if (!h) return;
  for (auto const& name : h->alive)
    attempts_.rank_disconnected(*table_.find(name.program), name.rank);
  hosts_.worker_disconnected(stream, now);
  placer_.worker_disconnected(stream);
  placer_.look_again();
}

void controller::reports(time_point now, rank_reports const& r) {
  auto* h = hosts_.find(r.stream);
  if (!h) return;
  if (r.lease > 0) {
    if (!host_table::fresh(*h, now)) placer_.look_again();
    hosts_.renew(*h, now);
    out_.to(r.stream).lease = r.lease;
  }
  for (auto const& s : r.started) started(now, *h, s);
  for (auto const& e : r.ended) report_end(now, *h, e);
}

void controller::started(time_point now, host const& h, rank_reports::start const& s) {
  auto const [p, rank] = alive_on(h, s.name);
  if (!p) return;
  if (!p->spec->preload.empty())
    p->now.ranks[rank].seen.not_preloaded =
        h.preloads ? s.not_preloaded : "its worker's version does not support preload";
  course_.started(*p, rank, s.pid, now);
}

// Confirms unknown ranks as well, so that the worker forgets them.
void controller::report_end(time_point now, host& h, rank_end const& end) {
  out_.to(h.stream).forget.push_back(end.name);
  auto const [p, rank] = alive_on(h, end.name);
  if (!p) return;
  course_.rank_dead(*p, rank, end, now);
  placer_.look_again();
}

std::map<std::string, bool> controller::uploads() const {
  std::map<std::string, bool> all;
  for (auto const& [id, p] : table_.all())
    if (!ended(p.state) && !p.spec->upload.empty())
      all.try_emplace(p.spec->upload, true).first->second &= p.upload_there;
  return all;
}

void controller::uploads_present(std::span<std::string const> there) {
  std::unordered_set<std::string_view> const all(there.begin(), there.end());
  for (auto const& [id, known] : table_.all()) {
    if (ended(known.state) || known.spec->upload.empty()) continue;
    bool const is = all.contains(known.spec->upload);
    if (std::exchange(table_.find(id)->upload_there, is) != is) placer_.look_again();
  }
}

// A failure that is reported while ranks are being stopped is a consequence of the stop.
void controller::coordination_failed(core::coordination_failed const& e) {
  auto* p = table_.find(e.program);
  if (p && p->attempts == e.attempt && p->goal == goal::run) p->now.trouble = e.what;
}

void controller::steps_reported(time_point now, program_steps_reported const& e) {
  auto* p = table_.find(e.program);
  if (!p || p->attempts != e.attempt || p->now.alive == 0) return;
  switch (e.what) {
    case program_steps_reported::kind::some:
      p->now.supports_step_stop = true;
      return;
    case program_steps_reported::kind::preempted:
      return course_.preempt(*p, e.text);
    case program_steps_reported::kind::none:
      return course_.give_up_steps(*p, now);
  }
}

void controller::hangs(time_point now, program_hangs const& e) {
  auto* p = table_.find(e.program);
  if (!p || p->attempts != e.attempt) return;
  if (e.over) return course_.progress_resumed(*p);
  course_.hangs(*p, e.what, now);
  placer_.look_again();
}

void controller::tick(time_point now) {
  for (auto const& name : hosts_.run_out(now)) {
    auto* p = table_.find(name.program);
    rank_end lost{.name = name, .lease_ran_out = true};
    course_.rank_dead(*p, name.rank, lost, now);
    placer_.look_again();
  }
  while (alarms_.next() <= now) {
    auto const alarm = alarms_.pop();
    auto* p = table_.find(program_id{alarm.id});
    if (!p) continue;
    if (alarm.kind == program_alarm::deadline)
      course_.deadline(*p, now);
    else
      course_.blame_lost_worker(*p, now);
    placer_.look_again();
  }
}

time_point controller::due() const {
  return std::min({hosts_.due(), alarms_.next(), placer_.due()});
}

}  // namespace muster::core::programs
