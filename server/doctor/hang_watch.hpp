// Detects that an attempt of a program makes no progress, and determines which rank the other ranks
// wait for. The verdict is derived from external observations of the ranks:
//
//   looked(): output, processor time and I/O of ranks ──┐
//   barriers of the program's cluster ──────────────────┼─► quiet ─► stacks()
//   stacks(), taken twice on request ───────────────────┘             │
//                                      found, with a verdict ◄────────┘
//
// A rank *works* when it prints, takes a step, does I/O or touches new memory, or when its stack
// changes. A rank *spins* when it only uses the processor, for example while it waits for a device
// or runs an endless loop. The program moves while any training rank works or all training ranks
// spin. A late barrier is examined separately. A rank that makes progress is never reported as the
// cause.
//
// Pure: callers pass the time. Owned by the code that watches programs, used on one thread. Limits:
// hang::waiting_shown, and text_bytes_max for each stack.
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

/// Counters of a rank and of all processes that it started. They decrease only when a process
/// exits.
struct rank_vitals {
  std::uint32_t rank = 0;
  char state = 0;  // from /proc: R, S, D, T or Z. T or D if any process is in this state
  std::uint64_t cpu_ms = 0;
  std::uint64_t io_bytes = 0;
  std::uint64_t faults = 0;
  std::uint64_t output = 0;
  std::uint64_t wakeups = 0;  // wake-ups of the rank's first thread
  std::optional<std::uint64_t> step{};
};

struct rank_stack {
  std::uint32_t rank = 0;
  std::string text{};  // stack of the rank's own process, as printed by faulthandler; may be empty
  std::string process{};  // kernel state, such as "S in futex_wait_queue"
  /// Whether the stack is native. Only its main thread is compared, and a change does not count as
  /// progress.
  bool native = false;
};

struct late_barrier {
  std::string id{};
  time_point since{};
  duration usual{};  // usual time between the first and last arrival; 0 if unknown
  std::vector<std::uint32_t> missing{};
  bool is_shutdown = false;  // whether ranks arrive at this barrier when they disconnect
};

struct look {
  std::vector<rank_vitals> vitals{};  // only ranks whose workers have answered
  std::uint64_t activity = 0;         // changes when the program's cluster is used
  std::vector<late_barrier> barriers{};
  duration usual_step{};  // 0 if unknown
};

enum class hang_change : std::uint8_t { none, found, over };

class hang_watch {
 public:
  /// Maximum size of a stack. Longer stacks are truncated.
  static constexpr std::size_t text_bytes_max = std::size_t{16} << 10;
  /// A barrier or step is late when it takes this many times as long as usual.
  static constexpr int late_times = 10;
  /// An undecided verdict is reviewed at doubling intervals, up to this multiple of `hang_after`.
  static constexpr int again_times_max = 64;

  /// @param trains indexed by rank; other ranks (ps, evaluator) are neither examined nor named
  hang_watch(time_point now, duration hang_after, std::vector<bool> trains);

  /// Restores a verdict of an earlier server process. The verdict remains until the named rank
  /// moves. If it names no rank, it remains until any rank moves. REQUIRES: looked() has not been
  /// called.
  void restore(core::hang found);
  duration every() const;
  time_point due() const { return due_; }
  void ended(time_point now, std::uint32_t rank);
  struct answer {
    bool stacks = false;  // whether the caller must request the stacks of all ranks now
    hang_change news{};
  };
  answer looked(time_point now, look l);
  hang_change stacks(time_point now, std::vector<rank_stack> all);

  /// Returns nothing while the program moves. The caller fills in `task` and `host`.
  std::optional<core::hang> const& found() const { return found_; }
  std::vector<std::uint32_t> const& waiting() const { return waiting_; }

 private:
  struct watched {
    bool trains = true, known = false, over = false;
    // Whether the first thread slept without a wake-up between the last two observations.
    bool still = false;
    bool spins = false;
    int in_kernel = 0;  // consecutive observations in the kernel
    rank_vitals last{};
    time_point seen{}, moved{};
    std::string stack{}, process{};
    std::string
        // Native stack while spinning; only displayed, because it differs each time.
        spun{};
  };
  using ranks = std::vector<std::uint32_t>;

  void note(time_point now, watched& w, rank_vitals const& v);
  ranks alive() const;
  bool all_seen() const;
  time_point quiet_since() const;
  /// Returns how long all ranks can be idle, or nothing if there is no limit.
  std::optional<duration> patience() const;
  duration patience_with(watched const& w) const;
  late_barrier const* barrier_in_question(time_point now) const;
  struct suspicion {
    time_point since{}, ripe{};
    late_barrier const* barrier = nullptr;
  };
  std::optional<suspicion> suspect(time_point now) const;
  hang_change check_over();
  hang_change decide(time_point now, suspicion const& s);
  core::hang judged(suspicion const& s) const;
  /// Returns the ranks in `among` whose stacks differ from the majority's, or nothing without a
  /// majority.
  std::optional<ranks> odd_ones(ranks const& among) const;
  /// Returns the ranks in `among` outside any collective operation, if other ranks are in a
  /// collective operation.
  ranks outside_collective(ranks const& among) const;
  /// Returns whether more than half of the living ranks are absent from the barrier, and each of
  /// them waits for the ranks at the barrier. An absent rank waits if it is in a collective
  /// operation. At the shutdown barrier, it also waits if it has the majority's stack and is
  /// blocked on another process. For example, a rank of JAX that raises an exception waits at the
  /// shutdown barrier before it exits.
  /// @param absent the living ranks that are missing from `b`
  /// @param odd the result of odd_ones() for all living ranks
  bool is_caused_at_barrier(late_barrier const& b, ranks const& absent,
                            std::optional<ranks> const& odd) const;
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
  std::optional<time_point> first_stacks_;
  time_point again_{};
  duration again_after_;
  std::optional<core::hang> found_;
  bool restored_ = false;
  ranks waiting_;
};

/// Returns the library ("JAX", "torch", …) whose collective operation the main thread is waiting
/// in, or an empty string. docs/programs.md lists the known frames.
std::string_view collective_of(std::string_view stack);
/// Returns the main thread's stack, which is the last in the text.
std::string_view main_thread_of(std::string_view stack);
/// Returns the main thread's current line, preferably outside the Python standard library and
/// shared libraries: "/srv/train.py:12 in step", or "train in step(int)" without line numbers.
/// Returns an empty string if unknown.
std::string line_of(std::string_view stack);

}  // namespace muster::doctor
