// That a program has come to a stand: what of, by which evidence, and what to do about it. Plain
// data; server/doctor finds it.
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

/// What a program that hangs wants.
enum class hang_policy : std::uint8_t {
  off = 0,      ///< nobody looks for hangs
  tell = 1,     ///< an alert and an event say so
  restart = 2,  ///< the attempt ends HUNG, which counts as a failure
  abort = 3,    ///< the program fails
};
constexpr auto enum_names(hang_policy) {
  using enum hang_policy;
  return enumerators<hang_policy>(off, "off", tell, "tell", restart, "restart", abort, "abort");
}
/// By what a rank is found. The first that tells of one names it.
enum class hang_evidence : std::uint8_t {
  undecided = 0,   ///< nobody is named
  barrier = 1,     ///< it is missing at the barrier that the others wait at
  step = 2,        ///< its step is behind
  stopped = 3,     ///< by a signal or a debugger
  in_kernel = 4,   ///< in a call that cannot be interrupted
  stack = 5,       ///< its stack is the odd one
  ended = 6,       ///< it has ended, and the others wait all the same
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
  std::int64_t rank = -1;  // -1: nobody is named
  std::string task{};      // "worker:3"
  std::string host{};
  std::string line{};                  // of its stack: "train.py:12 in step"; empty: none is known
  std::string process{};               // the kernel's word for it: "S in futex_wait_queue"
  std::string barrier{};               // that the others wait at
  std::uint32_t waits = 0;             // ranks that wait
  std::vector<std::string> waiting{};  // the first of their tasks
  /// Where most of them are. If no rank is named: where up to two of them are, each with its rank.
  std::string waiting_line{};
  time_point since{};  // nothing has moved
  time_point found{};

  bool operator==(hang const&) const = default;
};

/// For people, one line.
std::string text(hang const& h);

/// An event: the attempt hangs, or moves again. The core keeps it for the next process of the
/// server, and does what the program's hang_policy asks for.
struct program_hangs {
  program_id program{};
  std::uint32_t attempt = 0;
  hang what{};
  bool over = false;  // it moves again; `what` is not used
};

}  // namespace muster::core
