// That a program has come to a stand: what of, by which evidence, and what to do about it. Plain
// data; server/doctor finds it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/ids.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

/// What a program that hangs wants.
enum class hang_policy : std::uint8_t {
  off,      ///< nobody looks for hangs
  tell,     ///< an alert and an event say so
  restart,  ///< the attempt ends HUNG, which counts as a failure
  abort,    ///< the program fails
};
inline constexpr std::size_t hang_policies = 4;
std::string_view name(hang_policy p);  // "restart"

/// What a program says of how its ranks are watched.
struct watch_wish {
  hang_policy on_hang = hang_policy::tell;
  duration hang_after = std::chrono::seconds(60);  // nothing has moved for so long
  /// RE2 whose first group is the step in a line that a rank prints; empty: ranks say steps.
  std::string step_pattern{};

  bool operator==(watch_wish const&) const = default;
};

/// By what a rank is found. The first that tells of one names it.
enum class hang_evidence : std::uint8_t {
  undecided,   ///< nobody is named
  barrier,     ///< it is missing at the barrier that the others wait at
  step,        ///< its step is behind
  stopped,     ///< by a signal or a debugger
  in_kernel,   ///< in a call that cannot be interrupted
  stack,       ///< its stack is the odd one
  ended,       ///< it has ended, and the others wait all the same
  collective,  ///< the others wait in a collective operation, and it does not
};
std::string_view name(hang_evidence e);  // "IN_KERNEL"

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
