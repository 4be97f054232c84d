#include "server/history/programs/black_box.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace muster::history {
namespace {

std::size_t size_of(attempt_record::ended_rank const& r) {
  auto bytes = sizeof r + r.task.size() + r.host.size() + r.not_started.size();
  for (auto const* lines : {&r.stderr_lines, &r.stdout_lines})
    for (auto const& line : *lines) bytes += sizeof line + line.size();
  return bytes;
}

std::size_t size_of(attempt_record const& r) {
  auto bytes = sizeof r;
  for (auto const& e : r.events) bytes += sizeof e + e.about.size() + e.text.size();
  for (auto const& b : r.barriers)
    bytes += sizeof b + b.barrier.size() + b.last.size() + b.host.size() +
             b.came.size() * sizeof b.came[0];
  for (auto const& l : r.latecomers) bytes += sizeof l + l.task.size() + l.host.size();
  for (auto const& s : r.stacks)
    bytes += sizeof s + s.text.size() + s.process.size() + s.ranks.size() * sizeof s.ranks[0];
  for (auto const& one : r.ranks) bytes += size_of(one);
  return bytes;
}

std::vector<std::string> last_of(std::vector<std::string> const& lines, std::size_t bytes_max) {
  std::size_t bytes = 0;
  auto from = lines.end();
  while (from != lines.begin() && bytes + std::prev(from)->size() <= bytes_max)
    bytes += (--from)->size();
  return {from, lines.end()};
}

std::size_t length(std::vector<std::string> const& lines) {
  std::size_t bytes = 0;
  for (auto const& line : lines) bytes += line.size();
  return bytes;
}

}  // namespace

void black_box::begun(name const& which, std::vector<seat> seats) {
  auto& b = boxes_[which];
  if (!b.seats.empty()) return;
  for (auto const& s : seats) b.workers.insert(s.worker);
  b.seats = std::move(seats);
  live_.insert(which);
  weigh(b);
  auto const first = boxes_.lower_bound({which.program, 0});
  auto const of_it = std::distance(first, std::next(boxes_.find(which)));
  if (static_cast<std::size_t>(of_it) > limits_.attempts_max) erase(first);
}

void black_box::restore(name const& which, attempt_record what) {
  auto& b = boxes_[which];
  b.what = std::move(what);
  for (auto const& r : b.what.ranks) {
    b.ended.insert(r.rank);
    b.line_bytes += length(r.stderr_lines) + length(r.stdout_lines);
  }
  for (auto const& s : b.what.stacks) {
    b.placed.insert(s.ranks.begin(), s.ranks.end());
    b.stack_bytes += s.text.size();
  }
  weigh(b);
  make_room(which);
}

black_box::box* black_box::of(name const& which, std::uint32_t rank, std::string_view worker) {
  auto const it = boxes_.find(which);
  if (it == boxes_.end()) return nullptr;
  auto& b = it->second;
  return rank < b.seats.size() && b.seats[rank].worker == worker ? &b : nullptr;
}

void black_box::started(time_point now, std::string_view worker, rank_name const& rank) {
  auto* const b = of({rank.program, rank.attempt}, rank.rank, worker);
  if (b && b->seats[rank.rank].started == time_point{}) b->seats[rank.rank].started = now;
}

void black_box::ended(time_point now, std::string_view worker, rank_end const& end) {
  name const which{end.name.program, end.name.attempt};
  auto* b = of(which, end.name.rank, worker);
  if (!b || !b->ended.insert(end.name.rank).second) return;
  auto const& seat = b->seats[end.name.rank];
  attempt_record::ended_rank r{.rank = end.name.rank,
                               .task = seat.task,
                               .host = seat.host,
                               .ended = now,
                               .exit_status = end.exit_status,
                               .signal = end.signal,
                               .not_started = end.not_started,
                               .stopped = end.stopped,
                               .lease_ran_out = end.lease_ran_out,
                               .out_of_memory = end.out_of_memory,
                               .started = seat.started};
  auto const room = limits_.line_bytes_max - std::min(limits_.line_bytes_max, b->line_bytes);
  auto const each = std::min(limits_.rank_bytes_max, room) / 2;
  r.stderr_lines = last_of(end.stderr_lines, each);
  r.stdout_lines = last_of(end.stdout_lines, each);
  if (b->what.ranks.size() >= limits_.ranks_max || room == 0) {
    ++b->what.ranks_left_out;
    return;
  }
  b->line_bytes += length(r.stderr_lines) + length(r.stdout_lines) + r.not_started.size();
  b->what.ranks.push_back(std::move(r));
  // The ranks of an attempt usually exit at about the same time, so their exits are stored
  // together.
  if (is_over(which)) changed(which, *b);
}

void black_box::killed(std::string_view worker, name const& which,
                       std::vector<attempt_record::stack> where) {
  box* of_attempt = nullptr;
  for (auto& s : where) {
    std::erase_if(s.ranks, [&](std::uint32_t rank) {
      auto* b = of(which, rank, worker);
      if (b) of_attempt = b;
      return !b || !b->placed.insert(rank).second;
    });
    if (s.ranks.empty()) continue;
    auto& b = *of_attempt;
    auto const same = std::find_if(b.what.stacks.begin(), b.what.stacks.end(), [&s](auto const& o) {
      return o.state == s.state && o.text == s.text;
    });
    if (same != b.what.stacks.end()) {
      same->ranks.insert(same->ranks.end(), s.ranks.begin(), s.ranks.end());
      std::sort(same->ranks.begin(), same->ranks.end());
    } else if (b.stack_bytes + s.text.size() <= limits_.stack_bytes_max) {
      b.stack_bytes += s.text.size();
      b.what.stacks.push_back(std::move(s));
    } else {
      b.what.stacks_left_out += static_cast<std::uint32_t>(s.ranks.size());
    }
  }
  if (of_attempt && is_over(which)) changed(which, *of_attempt);
}

void black_box::lost(time_point now, std::string const& worker, std::string const& why) {
  for (auto const& which : live_)
    if (auto& b = boxes_[which]; b.workers.contains(worker) && b.away.insert(worker).second)
      add(which, b, {now, attempt_event::worker_lost, worker, why});
}

void black_box::back(time_point now, std::string const& worker) {
  for (auto const& which : live_)
    if (auto& b = boxes_[which]; b.away.erase(worker) > 0)
      add(which, b, {now, attempt_event::worker_back, worker, {}});
}

void black_box::told(name const& which, attempt_record::event what) {
  if (auto const it = boxes_.find(which); it != boxes_.end())
    add(which, it->second, std::move(what));
}

void black_box::add(name const& which, box& b, attempt_record::event e) {
  if (b.what.events.size() >= limits_.events_max) {
    ++b.what.events_left_out;
    return;
  }
  e.about = shortened(e.about, limits_.name_bytes_max);
  e.text = shortened(e.text, limits_.event_bytes_max);
  b.what.events.push_back(std::move(e));
  changed(which, b);
}

void black_box::over(name const& which, std::vector<attempt_record::meeting> barriers,
                     std::vector<attempt_record::late_task> late) {
  auto const it = boxes_.find(which);
  if (it == boxes_.end()) return;
  auto& b = it->second;
  live_.erase(which);
  b.what.barriers = std::move(barriers);
  b.what.latecomers = std::move(late);
  b.what.barriers.resize(std::min(b.what.barriers.size(), limits_.barriers_max));
  b.what.latecomers.resize(std::min(b.what.latecomers.size(), limits_.latecomers_max));
  auto arrivals = limits_.arrivals_max;
  for (auto& m : b.what.barriers) {
    m.barrier = shortened(m.barrier, limits_.name_bytes_max);
    if (m.came.size() > arrivals) m.came = {};
    arrivals -= m.came.size();
  }
  changed(which, b);
}

void black_box::changed(name const& which, box& b) {
  weigh(b);
  changed_.insert(which);
  make_room(which);
}

void black_box::weigh(box& b) {
  bytes_ -= b.bytes;
  b.bytes = size_of(b.what);
  for (auto const& s : b.seats)
    b.bytes += sizeof s + s.task.size() + s.worker.size() + s.host.size();
  bytes_ += b.bytes;
}

// The oldest programs have the smallest numbers.
void black_box::make_room(name const& but) {
  for (auto it = boxes_.begin(); bytes_ > limits_.bytes_max && it != boxes_.end();) {
    auto const here = it++;
    if (is_over(here->first) && here->first != but) erase(here);
  }
}

void black_box::erase(boxes::iterator it) {
  bytes_ -= it->second.bytes;
  changed_.erase(it->first);
  live_.erase(it->first);
  removed_.insert(it->first);
  boxes_.erase(it);
}

void black_box::forget(program_id program) {
  for (auto it = boxes_.lower_bound({program, 0});
       it != boxes_.end() && it->first.program == program;)
    erase(it++);
}

attempt_record const* black_box::find(name const& which) const {
  auto const it = boxes_.find(which);
  return it == boxes_.end() ? nullptr : &it->second.what;
}

std::vector<std::pair<black_box::name, attempt_record const*>> black_box::changes() {
  std::vector<std::pair<name, attempt_record const*>> all;
  for (auto const& which : std::exchange(removed_, {})) all.emplace_back(which, nullptr);
  for (auto const& which : std::exchange(changed_, {}))
    all.emplace_back(which, &boxes_.find(which)->second.what);
  return all;
}

}  // namespace muster::history
