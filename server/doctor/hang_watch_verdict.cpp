// The first conclusive piece of evidence determines which rank the other ranks wait for.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "server/doctor/hang_watch.hpp"

namespace muster::doctor {
namespace {

// Returns whether the process is waiting for another process at a socket, pipe or lock. Sleeping,
// waiting for a file lock and opening a FIFO do not count.
bool waits_for_others(std::string_view process) {
  for (std::string_view const word : {"poll", "select", "recv", "sk_wait", "wait_woken", "inet_",
                                      "unix_", "futex", "pipe_read", "do_wait", "eventfd"})
    if (process.find(word) != std::string_view::npos) return true;
  return false;
}

bool is_in(std::vector<std::uint32_t> const& some, std::uint32_t rank) {
  return std::find(some.begin(), some.end(), rank) != some.end();
}

bool is_stopped(rank_vitals const& v) {
  return v.state == 'T' || v.state == 't';
}

// A rank that skipped a barrier, or left it early, waits at another barrier for ranks that wait for
// it. The smaller group is at fault. Groups of equal size are undecided.
late_barrier const* of_the_many(std::vector<late_barrier> const& all, late_barrier const* b,
                                std::vector<std::uint32_t> const& alive) {
  for (auto const& other : all) {
    bool const wait_for_each_other =
        b && b != &other && std::all_of(alive.begin(), alive.end(), [&](auto r) {
          return is_in(b->missing, r) != is_in(other.missing, r);
        });
    if (!wait_for_each_other || other.missing.size() > b->missing.size()) continue;
    if (other.missing.size() == b->missing.size()) return nullptr;
    b = &other;
  }
  return b;
}

}  // namespace

bool hang_watch::blame_single_rank(core::hang& h, core::hang_evidence by,
                                   ranks const& those) const {
  if (those.size() != 1) return false;
  auto const& w = ranks_[those.front()];
  h.evidence = is_stopped(w.last) ? core::hang_evidence::stopped : by;
  h.rank = those.front();
  if (!w.over) {
    h.line = line_of_rank(those.front());
    h.process = w.process;
  }
  return true;
}

std::string hang_watch::line_of_rank(std::uint32_t rank) const {
  auto const& w = ranks_[rank];
  return line_of(w.stack.empty() ? w.spun : w.stack);
}

hang_watch::ranks hang_watch::outside_collective(ranks const& among) const {
  ranks outside;
  bool some_wait = false;
  for (auto const r : alive()) {
    auto const& stack = ranks_[r].stack;
    bool const waits = !collective_of(stack).empty();
    some_wait = some_wait || waits;
    bool const known = !stack.empty() || !ranks_[r].spun.empty();
    if (known && !waits && is_in(among, r)) outside.push_back(r);
  }
  return some_wait ? outside : ranks();
}

bool hang_watch::is_caused_at_barrier(late_barrier const& b, ranks const& absent,
                                      std::optional<ranks> const& odd) const {
  return 2 * absent.size() > alive().size() &&
         std::all_of(absent.begin(), absent.end(), [&](auto r) {
           auto const& w = ranks_[r];
           bool const alike = odd && !is_in(*odd, r) && waits_for_others(w.process);
           return !collective_of(w.stack).empty() || (b.is_shutdown && alike);
         });
}

std::string hang_watch::two_lines(ranks const& of) const {
  std::vector<std::string> found;
  std::string text;
  for (auto const r : of) {
    auto line = line_of_rank(r);
    if (line.empty() || std::find(found.begin(), found.end(), line) != found.end()) continue;
    text += (text.empty() ? "" : " and ") + line + " (rank " + std::to_string(r) + ")";
    found.push_back(std::move(line));
    if (found.size() == 2) break;
  }
  return text;
}

// Compares whole stacks first, and then main threads, because other threads can differ between
// ranks. Ranks without a stack are compared by their kernel state.
std::optional<hang_watch::ranks> hang_watch::odd_ones(ranks const& among) const {
  for (bool const whole : {true, false}) {
    std::map<std::pair<bool, std::string_view>, ranks> equal;
    for (auto const r : among) {
      auto const& w = ranks_[r];
      bool const has = !w.stack.empty();
      std::string_view const is = !has ? w.process : whole ? w.stack : main_thread_of(w.stack);
      equal[{has, is}].push_back(r);
    }
    auto const most = std::max_element(
        equal.begin(), equal.end(),
        [](auto const& a, auto const& b) { return a.second.size() < b.second.size(); });
    if (2 * most->second.size() <= among.size()) continue;
    ranks others;
    std::set_difference(among.begin(), among.end(), most->second.begin(), most->second.end(),
                        std::back_inserter(others));
    return others;
  }
  return {};
}

core::hang hang_watch::judged(suspicion const& s) const {
  using enum core::hang_evidence;
  core::hang h;
  auto const those = alive();
  auto among = those;
  auto const known = odd_ones(those);
  auto const odd = known.value_or(ranks());
  if (auto const one =
          std::find_if(those.begin(), those.end(), [&](auto r) { return !is_in(odd, r); });
      known && one != those.end())
    h.waiting_line = line_of(ranks_[*one].stack);
  auto const only = [&](auto const& is) {
    ranks some;
    std::copy_if(among.begin(), among.end(), std::back_inserter(some),
                 [&](auto r) { return is(r); });
    return some;
  };
  auto const* b = s.barrier;
  for (auto const& one : barriers_)
    if (!b || (!s.barrier && one.since < b->since)) b = &one;
  b = of_the_many(barriers_, b, those);
  if (b && !b->missing.empty()) {
    h.barrier = b->id;
    if (b->missing.front() < ranks_.size() && blame_single_rank(h, barrier, b->missing)) return h;
    auto const absent = only([&](auto r) { return is_in(b->missing, r); });
    if (is_caused_at_barrier(*b, absent, known)) {
      h.barrier.clear();
      among = only([&](auto r) { return !is_in(absent, r); });
    } else if (!absent.empty()) {
      among = absent;
    }
  }
  bool const all_step = std::all_of(those.begin(), those.end(),
                                    [&](auto r) { return ranks_[r].last.step.has_value(); });
  if (all_step && those.size() > 1) {
    auto least = *ranks_[those.front()].last.step, most = least;
    for (auto const r : those) {
      least = std::min(least, *ranks_[r].last.step);
      most = std::max(most, *ranks_[r].last.step);
    }
    auto const behind = only([&](auto r) { return least < most && ranks_[r].last.step == least; });
    if (blame_single_rank(h, step, behind)) return h;
    if (!behind.empty()) among = behind;
  }
  auto const stops = only([&](auto r) { return is_stopped(ranks_[r].last); });
  if (blame_single_rank(h, stopped, stops)) return h;
  auto const in_call = only([&](auto r) { return ranks_[r].in_kernel > 1; });
  if (in_call.size() < those.size() && blame_single_rank(h, in_kernel, in_call)) return h;
  // A rank that is alone in a collective operation may have a unique stack, but is not at fault.
  auto const outside = outside_collective(among);
  if (!outside.empty()) among = outside;
  auto const elsewhere = only([&](auto r) { return is_in(odd, r); });
  if (blame_single_rank(h, stack, elsewhere)) return h;
  for (auto const r : those)
    if (!outside.empty() && h.waiting_line.empty() && !collective_of(ranks_[r].stack).empty())
      h.waiting_line = line_of_rank(r);
  if (blame_single_rank(h, collective, outside)) return h;
  // Several ranks may differ, because a rank that serves the other ranks always differs. If all
  // other ranks wait for another process, the single rank that spins or sleeps for a long time is
  // named.
  auto const is_alone = [&](auto r) {
    auto const& w = ranks_[r];
    bool const blocked = w.still && w.process.find(" in ") != std::string::npos;
    return w.spins || (blocked && !waits_for_others(w.process));
  };
  if (those.size() > 2 && std::count_if(those.begin(), those.end(), is_alone) == 1 &&
      blame_single_rank(h, stack, only(is_alone)))
    return h;
  ranks gone;
  for (std::uint32_t r = 0; r < ranks_.size(); ++r)
    if (ranks_[r].trains && ranks_[r].over) gone.push_back(r);
  if (known && odd.empty() && blame_single_rank(h, ended, gone)) return h;
  if (those.size() == 1)
    h.line = line_of_rank(those.front());
  else
    h.waiting_line = two_lines(those);
  return h;
}

}  // namespace muster::doctor
