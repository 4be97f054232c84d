// Detects that an attempt of a program makes no progress, and which rank the others wait for. The
// verdict follows from observations of its ranks from outside:
//
//   looked(): output, processor time and I/O of ranks ──┐
//   barriers of their cluster ──────────────────────────┼─► quiet ─► stacks()
//   stacks(), taken twice on request ───────────────────┘             │
//                                      found, with a verdict ◄────────┘
//
// A rank *works* when it prints, takes a step, reads, writes or touches new memory, or when its
// stack changes. It *spins* when it only uses the processor, for example while it waits for a
// device or is in an endless loop. The program moves while any training rank works or all of them
// spin. A late barrier is examined separately. A working rank is never named.
//
// Pure: callers pass the time. Owned by the code that watches programs; one thread. Limits:
// hang::waiting_shown, text_bytes_max for each stack.
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

/// A worker's observation of a rank and all processes that it started. Sums only grow, unless a
/// process ends.
struct rank_vitals {
  std::uint32_t rank = 0;
  char state = 0;  // process state from /proc: R S D T Z; T or D if any process has it
  std::uint64_t cpu_ms = 0;
  std::uint64_t io_bytes = 0;  // bytes read and written by system calls
  std::uint64_t faults = 0;    // page faults
  std::uint64_t output = 0;    // bytes printed
  std::uint64_t wakeups = 0;   // wake-ups of its first thread
  std::optional<std::uint64_t> step{};
};

struct rank_stack {
  std::uint32_t rank = 0;
  std::string text{};     // its own process, in the format of faulthandler; empty if there is none
  std::string process{};  // such as "S in futex_wait_queue"
  /// Whether `text` is native. Other threads are then not compared, and a changed stack does not
  /// count as progress.
  bool native = false;
};

/// A barrier at which some ranks wait.
struct late_barrier {
  std::string id{};
  time_point since{};                    // arrival of the first rank
  duration usual{};                      // usual time from first to last arrival; 0: unknown
  std::vector<std::uint32_t> missing{};  // ranks
};

struct look {
  std::vector<rank_vitals> vitals{};  // of ranks whose workers have answered
  std::uint64_t activity = 0;         // changes when their cluster is used
  std::vector<late_barrier> barriers{};
  duration usual_step{};  // 0: unknown
};

enum class hang_change : std::uint8_t { none, found, over };

class hang_watch {
 public:
  /// Maximum size kept of a stack. The rest is cut off, so that more stacks compare equal.
  static constexpr std::size_t text_bytes_max = std::size_t{16} << 10;
  /// A barrier or step is late when it takes this many times as long as usual.
  static constexpr int late_times = 10;
  /// Limit, in multiples of hang_after, of the doubling interval at which an undecided verdict is
  /// reviewed.
  static constexpr int again_times_max = 64;

  /// @param trains by rank; other ranks (ps, evaluator) are neither examined nor named.
  hang_watch(time_point now, duration hang_after, std::vector<bool> trains);

  /// Continues with a verdict of an earlier server process. It holds until the named rank moves, or
  /// any rank if it names none. REQUIRES: looked() was not called.
  void restore(core::hang found);
  duration every() const;
  time_point due() const { return due_; }
  /// Records that the rank has exited successfully.
  void ended(time_point now, std::uint32_t rank);
  struct answer {
    bool stacks = false;  // the stacks of all ranks are requested now
    hang_change news{};
  };
  answer looked(time_point now, look l);
  hang_change stacks(time_point now, std::vector<rank_stack> all);

  /// Returns the current verdict; nothing if the program moves. The caller fills in `task` and
  /// `host`.
  std::optional<core::hang> const& found() const { return found_; }
  std::vector<std::uint32_t> const& waiting() const { return waiting_; }

 private:
  struct watched {
    bool trains = true, known = false, over = false;
    // Its first thread slept without a wake-up between the last two observations.
    bool still = false;
    bool spins = false;  // between the last two observations
    int in_kernel = 0;   // consecutive observations
    rank_vitals last{};
    time_point seen{}, moved{};
    std::string stack{}, process{};
    std::string
        // Native stack while spinning; differs each time, so it is used only for display.
        spun{};
  };
  using ranks = std::vector<std::uint32_t>;

  void note(time_point now, watched& w, rank_vitals const& v);
  ranks alive() const;
  bool all_seen() const;
  time_point quiet_since() const;
  /// Returns how long all ranks may be idle; nothing if there is no limit.
  std::optional<duration> patience() const;
  duration patience_with(watched const& w) const;
  late_barrier const* barrier_in_question(time_point now) const;
  /// When a suspicion began, and when it becomes a verdict.
  struct suspicion {
    time_point since{}, ripe{};
    late_barrier const* barrier = nullptr;
  };
  std::optional<suspicion> suspect(time_point now) const;
  hang_change check_over();
  hang_change decide(time_point now, suspicion const& s);
  core::hang judged(suspicion const& s) const;
  /// Returns the ranks of `among` whose stack differs from that of the majority; nothing without a
  /// majority.
  std::optional<ranks> odd_ones(ranks const& among) const;
  /// Returns the ranks of `among` that are not in a collective operation, if some ranks are in one.
  ranks outside_collective(ranks const& among) const;
  /// Returns, for example, "train.py:12 in step (rank 0) and train.py:40 in load (rank 3)".
  std::string two_lines(ranks const& of) const;
  std::string line_of_rank(std::uint32_t rank) const;
  bool blame_single_rank(core::hang& h, core::hang_evidence by, ranks const& those) const;

  duration const hang_after_;
  std::vector<watched> ranks_;
  time_point due_, activity_at_, last_check_{};
  std::uint64_t activity_ = 0;
  std::vector<late_barrier> barriers_;
  duration usual_step_{};
  std::optional<time_point> first_stacks_;  // when stacks were last taken for this suspicion
  time_point again_{};                      // when to review an undecided verdict
  duration again_after_;
  std::optional<core::hang> found_;
  bool restored_ = false;
  ranks waiting_;
};

/// Returns the library whose collective operation the main thread waits in: "JAX", "torch", …;
/// empty if none is known. docs/programs.md lists the frames.
std::string_view collective_of(std::string_view stack);
/// Returns the main thread's part, which is written last.
std::string_view main_thread_of(std::string_view stack);
/// Returns the line where the main thread is, preferably outside Python's own and shared libraries:
/// "/srv/train.py:12 in step"; "train in step(int)" for code without line numbers. Empty if
/// unknown.
std::string line_of(std::string_view stack);

}  // namespace muster::doctor
