// Records of attempts as entries, and back. They are for people alone: one that cannot be read
// keeps no server from starting.
#include <algorithm>

#include "muster/journal/v1/records.pb.h"
#include "server/journal/entries.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/program_keys.hpp"
#include "server/journal/times.hpp"

namespace muster::server::journal {
namespace {

namespace wire = muster::journal::v1;
using core::attempt_record;
using program_keys::kind;

template <class Lines>
std::vector<std::string> lines(Lines const& all) {
  return {all.begin(), all.end()};
}
template <class Enum>
Enum within(std::uint32_t value, Enum last) {
  return value <= static_cast<std::uint32_t>(last) ? static_cast<Enum>(value) : Enum{};
}

void add(attempt_record::ended_rank const& r, wire::AttemptRecord::Rank& w) {
  w.set_rank(r.rank);
  w.set_task(r.task);
  w.set_host(r.host);
  w.set_ended(us(r.ended));
  w.set_exit_status(r.exit_status);
  w.set_signal(r.signal);
  w.set_not_started(r.not_started);
  w.set_stopped(r.stopped);
  w.set_lease_ran_out(r.lease_ran_out);
  w.set_out_of_memory(r.out_of_memory);
  for (auto const& line : r.stderr_lines) w.add_stderr(line);
  for (auto const& line : r.stdout_lines) w.add_stdout(line);
  w.set_started(us(r.started));
}

std::string encoded(attempt_record const& r) {
  wire::AttemptRecord w;
  for (auto const& e : r.events) {
    auto& to = *w.add_events();
    to.set_at(us(e.at));
    to.set_kind(static_cast<std::uint32_t>(e.kind));
    to.set_about(e.about);
    to.set_text(e.text);
  }
  for (auto const& b : r.barriers) {
    auto& to = *w.add_barriers();
    to.set_barrier(b.barrier);
    to.set_counter(b.counter);
    to.set_ended(us(b.ended));
    to.set_participants(b.participants);
    to.set_last(b.last);
    to.set_host(b.host);
    to.set_late(b.late.count());
    to.set_spread(b.spread.count());
    for (auto const& c : b.came) {
      to.add_ranks(c.rank);
      to.add_came(c.after_us);
    }
  }
  for (auto const& l : r.latecomers) {
    auto& to = *w.add_latecomers();
    to.set_task(l.task);
    to.set_host(l.host);
    to.set_last(l.last);
    to.set_barriers(l.barriers);
    to.set_late_mean(l.late_mean.count());
    to.set_late_max(l.late_max.count());
  }
  for (auto const& s : r.stacks) {
    auto& to = *w.add_stacks();
    to.set_state(static_cast<std::uint32_t>(s.state));
    to.set_text(s.text);
    to.set_process(s.process);
    to.mutable_ranks()->Add(s.ranks.begin(), s.ranks.end());
  }
  for (auto const& one : r.ranks) add(one, *w.add_ranks());
  w.set_events_left_out(r.events_left_out);
  w.set_stacks_left_out(r.stacks_left_out);
  w.set_ranks_left_out(r.ranks_left_out);
  return w.SerializeAsString();
}

attempt_record decoded(wire::AttemptRecord const& w) {
  attempt_record r;
  for (auto const& e : w.events())
    r.events.push_back(
        {time(e.at()), within(e.kind(), core::attempt_event::moves_again), e.about(), e.text()});
  for (auto const& b : w.barriers()) {
    r.barriers.push_back({b.barrier(),
                          b.counter(),
                          time(b.ended()),
                          b.participants(),
                          b.last(),
                          b.host(),
                          core::duration(b.late()),
                          core::duration(b.spread()),
                          {}});
    for (int i = 0; i < std::min(b.ranks_size(), b.came_size()); ++i)
      r.barriers.back().came.push_back({b.ranks(i), b.came(i)});
  }
  for (auto const& l : w.latecomers())
    r.latecomers.push_back({l.task(), l.host(), l.last(), l.barriers(),
                            core::duration(l.late_mean()), core::duration(l.late_max())});
  for (auto const& s : w.stacks())
    r.stacks.push_back({within(s.state(), core::stack_state::native),
                        s.text(),
                        s.process(),
                        {s.ranks().begin(), s.ranks().end()}});
  for (auto const& one : w.ranks())
    r.ranks.push_back({one.rank(), one.task(), one.host(), time(one.ended()), one.exit_status(),
                       one.signal(), one.not_started(), one.stopped(), one.lease_ran_out(),
                       one.out_of_memory(), lines(one.stderr()), lines(one.stdout()),
                       time(one.started())});
  r.events_left_out = w.events_left_out();
  r.stacks_left_out = w.stacks_left_out();
  r.ranks_left_out = w.ranks_left_out();
  return r;
}

}  // namespace

void encode(core::program_id program, std::uint32_t attempt, attempt_record const* what,
            std::vector<change>& into) {
  auto key = program_keys::of(kind::record, program, attempt);
  if (what)
    into.push_back({change::kind::put, std::move(key), encoded(*what)});
  else
    into.push_back({change::kind::erase, std::move(key), {}});
}

muster::result<std::vector<stored_record>> load_records(store const& s) {
  std::vector<stored_record> all;
  auto const read =
      s.read(program_keys::below(kind::record), [&](std::string_view key, std::string_view value) {
        wire::AttemptRecord w;
        if (read_message(w, value))
          all.push_back({program_keys::program_in(key), program_keys::number_in(key), decoded(w)});
        return true;
      });
  if (!read.ok()) return read;
  return all;
}

}  // namespace muster::server::journal
