// A program that makes no progress: the rank at fault, the evidence, and the policy. Plain data;
// server/doctor detects hangs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

using muster::name;

/// The action when a program hangs.
enum class hang_policy : std::uint8_t {
  off = 0,      ///< hangs are not detected
  tell = 1,     ///< raises an alert and an event
  restart = 2,  ///< ends the attempt as HUNG, which counts as a failure
  abort = 3,    ///< fails the program
};
constexpr auto enum_names(hang_policy) {
  using enum hang_policy;
  return enumerators<hang_policy>(off, "off", tell, "tell", restart, "restart", abort, "abort");
}
/// How the rank at fault was identified. The first kind of evidence that identifies one is used.
enum class hang_evidence : std::uint8_t {
  undecided = 0,   ///< no rank is identified
  barrier = 1,     ///< it is missing at the barrier at which the others wait
  step = 2,        ///< its step is behind
  stopped = 3,     ///< stopped by a signal or a debugger
  in_kernel = 4,   ///< in an uninterruptible system call
  stack = 5,       ///< its stack differs from the others
  ended = 6,       ///< it has ended, and the others still wait
  collective = 7,  ///< the others wait in a collective operation, and it does not
};
constexpr auto enum_names(hang_evidence) {
  using enum hang_evidence;
  return enumerators<hang_evidence>(undecided, "UNDECIDED", barrier, "BARRIER", step, "STEP",
                                    stopped, "STOPPED", in_kernel, "IN_KERNEL", stack, "STACK",
                                    ended, "ENDED", collective, "COLLECTIVE");
}

struct hang {
  static constexpr std::size_t waiting_shown = 8;

  hang_evidence evidence{};
  std::int64_t rank = -1;  // -1: no rank is identified
  std::string task{};      // "worker:3"
  std::string host{};
  std::string line{};                  // of its stack: "train.py:12 in step"; empty: unknown
  std::string process{};               // kernel state: "S in futex_wait_queue"
  std::string barrier{};               // at which the others wait
  std::uint32_t waits = 0;             // number of waiting ranks
  std::vector<std::string> waiting{};  // the first of their tasks
  /// Stack line of most ranks. If no rank is identified: lines of up to two ranks, each with its
  /// rank.
  std::string waiting_line{};
  time_point since{};  // time since which there is no progress
  time_point found{};

  bool operator==(hang const&) const = default;
};

/// Returns a description for display, in one line.
std::string text(hang const& h);

/// An event: the attempt hangs, or makes progress again. The core stores it for the next process of
/// the server, and applies the program's hang_policy.
struct program_hangs {
  program_id program{};
  std::uint32_t attempt = 0;
  hang what{};
  bool over = false;  // it makes progress again; `what` is not used
};

}  // namespace muster::core
