// A program that makes no progress: the rank at fault, the evidence and the policy. server/doctor
// detects hangs.
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

enum class hang_policy : std::uint8_t {
  off = 0,
  tell = 1,     ///< raises an alert and an event
  restart = 2,  ///< ends the attempt as HUNG, which counts as a failure
  abort = 3,
};
constexpr auto enum_names(hang_policy) {
  using enum hang_policy;
  return enumerators<hang_policy>(off, "off", tell, "tell", restart, "restart", abort, "abort");
}
/// How the rank at fault was identified. The first kind of evidence that identifies a rank is used.
enum class hang_evidence : std::uint8_t {
  undecided = 0,
  barrier = 1,  ///< the rank is missing at the barrier at which the other ranks wait
  step = 2,     ///< the step of the rank is behind the other ranks
  stopped = 3,
  in_kernel = 4,
  stack = 5,       ///< the stack of the rank differs from the other stacks
  ended = 6,       ///< the rank has ended while the other ranks wait
  collective = 7,  ///< the rank is not in the collective operation in which the other ranks wait
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
  std::int64_t rank = -1;  // -1 if no rank was identified
  std::string task{};      // task, such as "worker:3"
  std::string host{};
  std::string line{};     // top stack line, such as "train.py:12 in step"; may be empty
  std::string process{};  // kernel state, such as "S in futex_wait_queue"
  std::string barrier{};
  std::uint32_t waits = 0;
  std::vector<std::string> waiting{};
  /// Stack line of most ranks. If no rank is identified, up to two stack lines with their rank
  /// numbers.
  std::string waiting_line{};
  time_point since{};  // time at which progress stopped
  time_point found{};

  bool operator==(hang const&) const = default;
};

std::string text(hang const& h);

/// Event: the attempt has stopped making progress, or makes progress again. The core applies the
/// hang_policy and stores the hang for a restart.
struct program_hangs {
  program_id program{};
  std::uint32_t attempt = 0;
  hang what{};
  bool over = false;  // the attempt makes progress again; `what` is unused
};

}  // namespace muster::core
