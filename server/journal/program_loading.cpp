// Reads programs from their entries, and checks that the controller can continue them: values are
// in their ranges, and the entries of a program are consistent.
#include <algorithm>
#include <limits>
#include <map>

#include "muster/journal/v1/records.pb.h"
#include "server/journal/each_entry.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/program_keys.hpp"
#include "server/journal/times.hpp"

namespace muster::server::journal {
namespace {

namespace wire = muster::journal::v1;
namespace of_core = core::programs;
using program_keys::kind;
using programs_by_id = std::map<core::program_id, stored_program>;

core::duration span(std::int64_t us) {
  return core::duration(us);
}

template <class Labels>
core::named_amounts amounts(Labels const& all) {
  core::named_amounts to;
  for (auto const& l : all) to.emplace_back(l.name(), l.amount());
  return to;
}
template <class Texts>
core::named_texts texts(Texts const& all) {
  core::named_texts to;
  for (auto const& t : all) to.emplace_back(t.name(), t.value());
  return to;
}
template <class Words>
std::vector<std::string> words(Words const& all) {
  return {all.begin(), all.end()};
}
template <class Enum>
Enum within(std::uint32_t value, Enum last, bool& ok) {
  ok = ok && value <= static_cast<std::uint32_t>(last);
  return static_cast<Enum>(value);
}

core::program_spec decoded(wire::Program const& w, bool& ok) {
  core::program_spec s;
  s.name = w.name();
  s.command = words(w.command());
  for (auto const& t : w.tasks()) {
    s.tasks.push_back({t.type(), t.min(), t.max(), words(t.command()), amounts(t.resources()),
                       texts(t.labels())});
    ok = ok && t.min() > 0 && t.min() <= t.max() && !(t.command().empty() && s.command.empty());
  }
  ok = ok && !s.tasks.empty();
  s.per_worker = w.per_worker();
  s.env = texts(w.env());
  s.working_dir = w.working_dir();
  s.max_restarts = w.max_restarts();
  s.grace = span(w.grace());
  s.restart_grace = span(w.restart_grace());
  s.deadline = span(w.deadline());
  s.priority = w.priority();
  s.ends_with = words(w.ends_with());
  s.idempotency_key = w.idempotency_key();
  s.request_digest = w.request_digest();
  s.metadata = w.metadata();
  s.submitted_by = w.submitted_by();
  s.notice = span(w.notice());
  s.spares = w.spares();
  s.upload = w.upload();
  s.weight = std::max(w.weight(), 1u);
  s.preload = words(w.preload());
  s.store = within(w.store(), core::store_place::server, ok);
  s.step_pattern = w.step_pattern();
  // Entries of older servers have no hang policy.
  if (w.hang_after() > 0) {
    s.on_hang = within(w.on_hang(), core::hang_policy::abort, ok);
    s.hang_after = span(w.hang_after());
  }
  return s;
}

core::hang decoded(wire::Hang const& w, bool& ok) {
  core::hang h;
  h.evidence = within(w.evidence(), core::hang_evidence::collective, ok);
  h.rank = w.rank();
  h.task = w.task();
  h.host = w.host();
  h.line = w.line();
  h.process = w.process();
  h.barrier = w.barrier();
  h.waits = w.waits();
  h.waiting = words(w.waiting());
  h.waiting_line = w.waiting_line();
  h.since = time(w.since());
  h.found = time(w.found());
  return h;
}

core::program_cause decoded(wire::ProgramCause const& w, bool& ok) {
  core::program_cause c;
  c.kind = within(w.kind(), core::cause_kind::hang, ok);
  c.rank = w.rank();
  c.task = w.task();
  c.host = w.host();
  c.exit_status = w.exit_status();
  c.signal = w.signal();
  c.text = w.text();
  c.stderr_lines = words(w.stderr());
  if (w.has_hang()) c.hang = decoded(w.hang(), ok);
  if (w.has_coordination()) {
    auto const& told = w.coordination();
    c.coordination = core::coordination_failure{static_cast<muster::code>(told.code()), told.task(),
                                                told.message()};  // any code that an agent reported
  }
  return c;
}

of_core::course_fact decoded(core::program_id id, wire::ProgramCourse const& w, bool& ok) {
  of_core::course_fact f;
  f.program = id;
  f.state = within(w.state(), core::program_state::cancelled, ok);
  f.goal = within(w.goal(), of_core::goal::stop, ok);
  f.attempts = w.attempts();
  f.counted_restarts = w.counted_restarts();
  f.quick_ends = w.quick_ends();
  f.failures = amounts(w.failures());
  if (w.has_cause()) f.cause = decoded(w.cause(), ok);
  f.finished = time(w.finished());
  f.not_before = time(w.not_before());
  if (w.has_stop_at()) f.stop_at = core::agreed_stop{w.stop_at().attempt(), w.stop_at().step()};
  if (w.has_hang()) f.hang = decoded(w.hang(), ok);
  ok = ok && (!f.stop_at || (f.stop_at->attempt > 0 && f.stop_at->attempt <= f.attempts)) &&
       (f.state != core::program_state::failed || f.cause);
  return f;
}

core::program_attempt_view decoded(std::uint32_t number, wire::ProgramAttempt const& w, bool& ok) {
  core::program_attempt_view a;
  a.attempt = number;
  a.end = within(w.end(), core::program_end::hung, ok);
  a.ranks = w.ranks();
  a.hosts = w.hosts();
  a.begun = time(w.begun());
  a.running_since = time(w.running_since());
  a.ended = time(w.ended());
  if (w.has_cause()) a.cause = decoded(w.cause(), ok);
  return a;
}

bool is_port(std::uint64_t n) {
  return n > 0 && n <= std::numeric_limits<std::uint16_t>::max();
}

of_core::placement_fact decoded(core::program_id id, wire::Placement const& w,
                                core::program_spec const& spec, bool& ok) {
  of_core::placement_fact f;
  f.program = id;
  f.attempt = w.attempt();
  for (auto const& p : w.places()) {
    f.places.push_back({p.job(), p.index(), core::incarnation{p.incarnation()}, p.host(),
                        p.address(), p.first_port(), p.last_port(), span(p.lease())});
    ok = ok && is_port(p.first_port()) && is_port(p.last_port()) &&
         p.first_port() <= p.last_port() && p.lease() > 0;
  }
  auto const n = w.group_size();
  ok = ok && n > 0 && w.index_size() == n && w.place_size() == n && w.port_size() == n;
  for (int i = 0; ok && i < n; ++i) {
    f.ranks.push_back({w.group(i), w.index(i), w.place(i), w.port(i)});
    ok = w.group(i) < spec.tasks.size() && w.place(i) < f.places.size() && is_port(w.port(i));
  }
  f.own_service = w.own_service();
  f.meeting_point = w.meeting_point();
  f.tunnels = w.tunnels();
  f.store = w.store();
  for (auto const& p : w.ports()) {
    auto const port = std::strtoull(p.value().c_str(), nullptr, 10);
    ok = ok && is_port(port);
    f.ports.emplace_back(p.name(), static_cast<std::uint16_t>(port));
  }
  return f;
}

of_core::rank_fact decoded(core::rank_name const& name, wire::DeadRank const& w, bool& ok) {
  of_core::rank_fact f;
  f.name = name;
  f.name.attempt = w.attempt();
  f.well = w.well();
  f.state = within(w.state(), core::rank_state::stopped, ok);
  f.pid = w.pid();
  f.started = time(w.started());
  f.ended = time(w.ended());
  f.exit_status = w.exit_status();
  f.signal = w.signal();
  f.not_started = w.not_started();
  f.out_of_memory = w.out_of_memory();
  return f;
}

// Returns whether the invariants of the controller hold for the program; see its invalid().
bool fits(of_core::restored_program const& p) {
  auto const& c = p.course;
  auto const alive = p.placement ? p.placement->ranks.size() - p.ended.size() : 0;
  bool const runs =
      c.state == core::program_state::starting || c.state == core::program_state::running;
  bool const waits = c.state == core::program_state::pending ||
                     (c.state == core::program_state::restarting && alive == 0);
  if ((c.attempts > 0) != p.placement.has_value() || (c.attempts > 0) == p.attempts.empty())
    return false;
  if (c.attempts > 0 &&
      (p.placement->attempt != c.attempts || p.attempts.back().attempt != c.attempts))
    return false;
  if (core::ended(c.state) && alive > 0) return false;
  if (runs && alive == 0) return false;
  if (c.state == core::program_state::stopping && alive == 0) return false;
  if (c.state == core::program_state::pending && c.attempts > 0) return false;
  return runs == (c.goal == of_core::goal::run && !waits && !core::ended(c.state));
}

// Reads the entries of one kind of all programs.
template <class Message, class Take>
muster::status each_program(store const& s, kind k, Take take) {
  return each_entry<Message>(s, program_keys::below(k), std::move(take));
}

muster::status load_attempts(store const& s, programs_by_id& all) {
  auto const of = [&](std::string_view key) {
    auto const it = all.find(program_keys::program_in(key));
    return it == all.end() ? nullptr : &it->second.program;
  };
  auto read = each_program<wire::ProgramAttempt>(s, kind::attempt, [&](auto key, auto const& w) {
    bool ok = true;
    if (auto* p = of(key)) p->attempts.push_back(decoded(program_keys::number_in(key), w, ok));
    return ok && of(key);
  });
  if (!read.ok()) return read;
  read = each_program<wire::Placement>(s, kind::placement, [&](auto key, auto const& w) {
    bool ok = true;
    auto* p = of(key);
    if (p) p->placement = decoded(p->submitted.program, w, *p->submitted.spec, ok);
    return ok && p;
  });
  if (!read.ok()) return read;
  return each_program<wire::DeadRank>(s, kind::rank, [&](auto key, auto const& w) {
    auto* p = of(key);
    if (!p || !p->placement) return false;
    core::rank_name const name{p->submitted.program, w.attempt(), program_keys::number_in(key)};
    bool ok = name.attempt == p->placement->attempt && name.rank < p->placement->ranks.size();
    if (ok) p->ended.push_back(decoded(name, w, ok));
    return ok;
  });
}

}  // namespace

muster::result<std::vector<stored_program>> load_programs(store const& s) {
  programs_by_id all;
  auto read = each_program<wire::Program>(s, kind::submitted, [&](auto key, auto const& w) {
    auto const id = program_keys::program_in(key);
    bool ok = id != core::program_id{};
    auto& p = all[id];
    p.cluster = w.cluster();
    p.program.submitted = {id, std::make_shared<core::program_spec const>(decoded(w, ok)),
                           time(w.created())};
    return ok;
  });
  if (!read.ok()) return read;
  std::size_t courses = 0;
  read = each_program<wire::ProgramCourse>(s, kind::course, [&](auto key, auto const& w) {
    auto const it = all.find(program_keys::program_in(key));
    bool ok = it != all.end();
    if (ok) it->second.program.course = decoded(it->first, w, ok);
    ++courses;
    return ok;
  });
  if (!read.ok()) return read;
  if (auto attempts = load_attempts(s, all); !attempts.ok()) return attempts;
  std::vector<stored_program> list;
  for (auto& [id, p] : all) {
    if (courses != all.size() || !fits(p.program))
      return muster::status{code::internal,
                            "the entries of program " + core::text(id) + " are inconsistent"};
    list.push_back(std::move(p));
  }
  return list;
}

}  // namespace muster::server::journal
