// Simulated ranks, each with an activity, and a watch that samples them.
#pragma once

#include <string>
#include <vector>

#include "server/doctor/hang_watch.hpp"

namespace muster::doctor {

using namespace std::chrono_literals;

struct model_rank {
  enum class does { waits, spins, computes, writes, prints, compiles, stopped, in_kernel };
  does now = does::waits;
  std::string line = "\"wait.py\", line 3 in wait";
  std::uint64_t cpu = 0, io = 0, faults = 0, output = 0, wakeups = 0;
  std::string in_kernel_at{};
  std::optional<std::uint64_t> step{};

  void live(duration d) {
    auto const ms = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(d).count());
    bool const runs = now == does::spins || now == does::computes || now == does::compiles;
    if (runs) cpu += ms;
    if (now == does::compiles || now == does::computes) faults += ms;
    if (now == does::writes) io += ms * 1'000, cpu += ms / 50;
    if (now == does::prints) output += 20;
    if (now == does::stopped || now == does::in_kernel) return;
    cpu += ms / 100, io += ms * 10, faults += ms / 100;  // waiting threads use this little
  }
  char state() const {
    if (now == does::stopped) return 'T';
    if (now == does::in_kernel) return 'D';
    return now == does::waits || now == does::writes ? 'S' : 'R';
  }
};

inline std::string stack_at(std::string const& line) {
  return "Thread (most recent call first):\n  File \"/usr/lib/python3.11/threading.py\", line 320 "
         "in "
         "wait\n\nCurrent thread (most recent call first):\n  File " +
         line + "\n  File \"train.py\", line 90 in <module>\n";
}

/// @param step The current position of a loop.
inline std::string native_stack_at(std::string const& line, int step) {
  static int looks = 0;  // the stacks of a thread pool always differ
  return "Thread pool (most recent call first):\n  File \"libc.so.6\" in " +
         std::to_string(++looks) +
         "\nThread train (most recent call first):\n  File \"libc.so.6\" in step_" +
         std::to_string(step) + "\n  File " + line + "\n  File \"train\" in main\n";
}

/// Samples when the watch is due, and provides stacks on request.
struct model_program {
  explicit model_program(std::size_t ranks, duration hang_after = 60s)
      : model_program(hang_after, std::vector<bool>(ranks, true)) {}
  model_program(duration hang_after, std::vector<bool> trains)
      : ranks(trains.size()), watch(now, hang_after, std::move(trains)) {}

  /// Runs until the watch reports news, at most for `d`.
  hang_change run(duration d) {
    auto const until = now + d;
    while (now < until) {
      auto const next = std::min(until, std::max(watch.due(), now + 1ms));
      for (auto& r : ranks) r.live(next - now);
      now = next;
      if (now < watch.due()) break;
      if (auto const news = look_once(); news != hang_change::none) return news;
    }
    return hang_change::none;
  }
  hang_change look_once() {
    look l;
    for (std::uint32_t i = 0; i < ranks.size(); ++i) {
      auto const& r = ranks[i];
      if (unseen == static_cast<int>(i)) continue;
      l.vitals.push_back({i, r.state(), r.cpu, r.io, r.faults, r.output, r.wakeups, r.step});
    }
    l.activity = activity;
    l.barriers = barriers;
    l.usual_step = usual_step;
    auto const a = watch.looked(now, std::move(l));
    if (a.news != hang_change::none || !a.stacks) return a.news;
    ++asked;
    std::vector<rank_stack> stacks;
    for (std::uint32_t i = 0; i < ranks.size(); ++i) {
      auto text = python && ranks[i].state() != 'T' ? stack_at(ranks[i].line) : std::string();
      // A rank that spins in native code changes its position.
      bool const moves = native && ranks[i].now == model_rank::does::spins;
      if (native) text = native_stack_at(ranks[i].line, moves ? asked : 0);
      stacks.push_back({i, std::move(text),
                        std::string(1, ranks[i].state()) + " in " + in_kernel_at(i), native});
    }
    return watch.stacks(now + 100ms, std::move(stacks));
  }
  std::string in_kernel_at(std::uint32_t i) const {
    if (!ranks[i].in_kernel_at.empty()) return ranks[i].in_kernel_at;
    return ranks[i].now == model_rank::does::waits ? "futex_wait" : "0";
  }
  std::int64_t named() const { return watch.found() ? watch.found()->rank : -2; }
  core::hang_evidence by() const { return watch.found()->evidence; }

  time_point now = time_point{} + 1h;
  std::vector<model_rank> ranks;
  hang_watch watch;
  std::uint64_t activity = 0;
  std::vector<late_barrier> barriers;
  duration usual_step{};
  int unseen = -1;  // the rank whose worker does not answer
  int asked = 0;    // how often stacks were requested
  bool python = true;
  bool native = false;  // stacks are of native code
};

}  // namespace muster::doctor
