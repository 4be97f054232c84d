// Whether one attempt of a program has come to a stand, and which rank the others wait for. A rule
// over what is seen of its ranks from outside:
//
//   looked(): what ranks have printed, used of the processor, read, written ─┐
//   the barriers of their cluster ───────────────────────────────────────────┼─► quiet ─► stacks()
//   stacks(), when it asks for them, twice ──────────────────────────────────┘             │
//                                                              found, with a verdict ◄─────┘
//
// A rank *works* when it prints, takes a step, reads, writes or touches new memory, or when its
// stack changes; it *spins* when it only uses the processor, as those do that wait for a device and
// those that are caught in a loop. While one that trains works, or all of them spin, the program
// moves; a barrier that is late is looked at for itself. Who works is never named.
//
// Pure: time comes in. Owned by whoever watches programs; one thread. Limits: hang::waiting_shown,
// text_bytes_max of what is kept of a stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/hangs.hpp"

namespace muster::doctor {

using core::duration;
using core::time_point;

/// What a worker sees of a rank and of all that it has started. Sums only grow, but for processes
/// that are gone.
struct rank_vitals {
  std::uint32_t rank = 0;
  char state = 0;  // of its process, as /proc has it: R S D T Z; T or D where any of them is
  std::uint64_t cpu_ms = 0;
  std::uint64_t io_bytes = 0;  // read and written, by calls
  std::uint64_t faults = 0;    // pages that it touched first
  std::uint64_t output = 0;    // bytes printed
  std::uint64_t wakeups = 0;   // how often its first thread was woken
  std::optional<std::uint64_t> step{};
};

struct rank_stack {
  std::uint32_t rank = 0;
  std::string text{};     // of its own process, as faulthandler writes it; empty: there is none
  std::string process{};  // "S in futex_wait_queue"
  /// Frames of native code. What its other threads do is not compared, and a change is no sign of
  /// life: vitals tell whether there is one.
  bool native = false;
};

/// A barrier that some wait at.
struct late_barrier {
  std::string id{};
  time_point since{};                    // the first came
  duration usual{};                      // from the first to the last, where it has been met before
  std::vector<std::uint32_t> missing{};  // ranks
};

struct look {
  std::vector<rank_vitals> vitals{};  // of ranks whose workers have answered
  std::uint64_t activity = 0;         // another number than before: their cluster has been used
  std::vector<late_barrier> barriers{};
  duration usual_step{};  // 0: nothing is known of steps
};

enum class hang_news : std::uint8_t { none, found, over };

class hang_watch {
 public:
  /// Of a stack; what is beyond is cut, which makes more of them equal.
  static constexpr std::size_t text_bytes_max = std::size_t{16} << 10;
  /// A barrier, or a step, is late when it takes so many times what is usual.
  static constexpr int late_times = 10;
  /// What is undecided is looked at again after hang_after, then twice that, up to so many times
  /// it.
  static constexpr int again_times_max = 64;

  /// `trains`: by rank; the others (ps, evaluator) are neither asked nor named.
  hang_watch(time_point now, duration hang_after, std::vector<bool> trains);

  /// Goes on with a verdict of an earlier process of the server. It holds until the rank that it
  /// names moves, or any rank where it names none. REQUIRES: nothing was looked at.
  void restore(core::hang found);
  duration every() const;
  /// When it wants to be told the next look.
  time_point due() const { return due_; }
  /// The rank has ended well.
  void ended(time_point now, std::uint32_t rank);
  struct answer {
    bool stacks = false;  // it wants those of all ranks, just now
    hang_news news{};
  };
  answer looked(time_point now, look l);
  hang_news stacks(time_point now, std::vector<rank_stack> all);

  /// None: it moves. `task` and `host` are for whoever knows them.
  std::optional<core::hang> const& found() const { return found_; }
  /// Ranks that wait, while there is a verdict.
  std::vector<std::uint32_t> const& waiting() const { return waiting_; }

 private:
  struct watched {
    bool trains = true, known = false, over = false;
    bool still = false;  // its first thread sleeps and was not woken between the last two looks
    bool spins = false;  // between the last two looks
    int in_kernel = 0;   // looks in a row
    rank_vitals last{};
    time_point seen{}, moved{};
    std::string stack{}, process{};
    std::string
        spun{};  // native code where it spins: never the same twice, so it tells nothing else
  };
  using ranks = std::vector<std::uint32_t>;

  void note(time_point now, watched& w, rank_vitals const& v);
  ranks alive() const;
  bool all_seen() const;
  time_point quiet_since() const;
  /// How long nothing may move; none: however long.
  std::optional<duration> patience() const;
  duration patience_with(watched const& w) const;
  late_barrier const* barrier_in_question(time_point now) const;
  /// Since when there is a suspicion, and when it becomes a verdict; none: all is well.
  struct suspicion {
    time_point since{}, ripe{};
    late_barrier const* barrier = nullptr;
  };
  std::optional<suspicion> suspect(time_point now) const;
  hang_news check_over();
  hang_news decide(time_point now, suspicion const& s);
  core::hang judged(suspicion const& s) const;
  /// Who is elsewhere than more than half of them; none: not so many are in one place.
  std::optional<ranks> odd_ones(ranks const& among) const;
  /// Of `among`: none, unless some wait in a collective operation and these do not.
  ranks outside_collective(ranks const& among) const;
  /// "train.py:12 in step (rank 0) and train.py:40 in load (rank 3)".
  std::string two_lines(ranks const& of) const;
  std::string line_of_rank(std::uint32_t rank) const;
  bool name_one(core::hang& h, core::hang_evidence by, ranks const& those) const;

  duration const hang_after_;
  std::vector<watched> ranks_;
  time_point due_, activity_at_, last_look_{};
  std::uint64_t activity_ = 0;
  std::vector<late_barrier> barriers_;
  duration usual_step_{};
  std::optional<time_point> first_stacks_;  // when they were last taken, in this suspicion
  time_point again_{};                      // one that is undecided is looked at again
  duration again_after_;
  std::optional<core::hang> found_;
  bool restored_ = false;
  ranks waiting_;
};

/// Says which operation across ranks the main thread of such a stack waits in: "JAX", "torch", …;
/// empty: none that is known. docs/programs.md lists the frames.
std::string_view collective_of(std::string_view stack);
/// The main thread of such a stack, which is written last.
std::string_view main_thread_of(std::string_view stack);
/// The line where the main thread of such a stack is, outside of Python's own and of shared
/// libraries where it can be: "/srv/train.py:12 in step", "train in step(int)" of code without
/// lines. Empty: none.
std::string line_of(std::string_view stack);

}  // namespace muster::doctor
