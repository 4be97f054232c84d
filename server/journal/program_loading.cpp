// Checks that the controller can continue the loaded programs.
#include <algorithm>
#include <limits>
#include <map>

#include "server/journal/each_entry.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/program_entry.hpp"
#include "server/journal/program_keys.hpp"

namespace muster::server::journal {
namespace {

namespace of_core = core::programs;
using program_keys::kind;

bool is_port(std::uint64_t n) {
  return n > 0 && n <= std::numeric_limits<std::uint16_t>::max();
}

// Each function fits() completes an entry and returns whether the controller can use it.
bool fits(core::program_spec& s) {
  s.weight = std::max(s.weight, 1u);
  if (s.hang_after <= core::duration{}) {  // older servers stored no hang policy
    s.on_hang = core::program_spec{}.on_hang;
    s.hang_after = core::program_spec{}.hang_after;
  }
  for (auto const& t : s.tasks)
    if (t.min == 0 || t.min > t.max || (t.command.empty() && s.command.empty())) return false;
  return !s.tasks.empty();
}

bool fits(of_core::course_fact const& f) {
  bool const stops = !f.stop_at || (f.stop_at->attempt > 0 && f.stop_at->attempt <= f.attempts);
  return stops && (f.state != core::program_state::failed || f.cause);
}

bool fits(of_core::placement_fact const& f, core::program_spec const& spec) {
  for (auto const& p : f.places)
    if (!is_port(p.first_port) || !is_port(p.last_port) || p.first_port > p.last_port ||
        p.lease <= core::duration{})
      return false;
  for (auto const& r : f.ranks)
    if (r.group >= spec.tasks.size() || r.place >= f.places.size() || !is_port(r.port))
      return false;
  return !f.ranks.empty();
}

// Returns whether the invariants that the controller's invalid() checks are satisfied.
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

using programs_by_id = std::map<core::program_id, stored_program>;

template <class Entry, class Take>
muster::status each_program(store const& s, kind k, Take take) {
  return each_entry<Entry>(s, program_keys::below(k), take);
}

muster::status load_attempts(store const& s, programs_by_id& all) {
  auto const of = [&](std::string_view key) {
    auto const it = all.find(program_keys::program_in(key));
    return it == all.end() ? nullptr : &it->second.program;
  };
  auto read = each_program<core::program_attempt_view>(
      s, kind::attempt, [&](auto key, core::program_attempt_view& a) {
        auto* const p = of(key);
        auto const number = number_in(key);
        if (!p || !number) return false;
        a.attempt = *number;
        p->attempts.push_back(std::move(a));
        return true;
      });
  if (!read.ok()) return read;
  read = each_program<of_core::placement_fact>(s, kind::placement,
                                               [&](auto key, of_core::placement_fact& f) {
                                                 auto* const p = of(key);
                                                 if (!p || !fits(f, *p->submitted.spec))
                                                   return false;
                                                 f.program = p->submitted.program;
                                                 p->placement = std::move(f);
                                                 return true;
                                               });
  if (!read.ok()) return read;
  return each_program<of_core::rank_fact>(s, kind::rank, [&](auto key, of_core::rank_fact& f) {
    auto* const p = of(key);
    auto const rank = number_in(key);
    if (!p || !p->placement || !rank) return false;
    f.name.program = p->submitted.program;
    f.name.rank = *rank;
    bool const known =
        f.name.attempt == p->placement->attempt && f.name.rank < p->placement->ranks.size();
    if (known) p->ended.push_back(std::move(f));
    return known;
  });
}

}  // namespace

muster::result<std::vector<stored_program>> load_programs(store const& s) {
  programs_by_id all;
  auto read = each_program<program_entry>(s, kind::submitted, [&](auto key, program_entry& e) {
    auto const id = program_keys::program_in(key);
    if (id == core::program_id{} || !fits(e.spec)) return false;
    auto& p = all[id];
    p.cluster = std::move(e.cluster);
    p.program.submitted = {id, std::make_shared<core::program_spec const>(std::move(e.spec)),
                           e.created};
    return true;
  });
  if (!read.ok()) return read;
  std::size_t courses = 0;
  read =
      each_program<of_core::course_fact>(s, kind::course, [&](auto key, of_core::course_fact& f) {
        auto const it = all.find(program_keys::program_in(key));
        ++courses;
        if (it == all.end() || !fits(f)) return false;
        f.program = it->first;
        it->second.program.course = std::move(f);
        return true;
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
