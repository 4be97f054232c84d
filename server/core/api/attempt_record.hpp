// The black box of a program's attempt: what was seen of it while it ran, for people, when it is
// long over. No decision rests on it. Plain data; server/history/programs/black_box.hpp fills it,
// and says how much of everything is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/time.hpp"

namespace muster::core {

using muster::name;

enum class stack_state : std::uint8_t {
  unknown = 0,  ///< it has not begun, or has ended
  taken = 1,
  not_python = 2,  ///< no process of it has registered, and nobody could look from outside
  stopped = 3,     ///< by a signal or a debugger
  in_kernel = 4,   ///< in a call that cannot be interrupted
  no_answer = 5,   ///< it has registered, and wrote nothing
  off = 6,         ///< worker --stack-signal off
  away = 7,        ///< its worker is
  busy = 8,        ///< its worker answers as many questions as it may
  native = 9,      ///< it is no Python; the frames are of native code
};
constexpr auto enum_names(stack_state) {
  using enum stack_state;
  return enumerators<stack_state>(unknown, "UNKNOWN", taken, "TAKEN", not_python, "NOT_PYTHON",
                                  stopped, "STOPPED", in_kernel, "IN_KERNEL", no_answer,
                                  "NO_ANSWER", off, "OFF", away, "AWAY", busy, "BUSY", native,
                                  "NATIVE");
}

enum class attempt_event : std::uint8_t {
  task_failed = 0,     ///< in the program's coordination cluster
  barrier_failed = 1,  ///< there
  worker_lost = 2,     ///< one with ranks of it is out of sight
  worker_back = 3,     ///< it is there again
  hangs = 4,           ///< nothing of it has moved, since then
  moves_again = 5,     ///< it does, after that
};
constexpr auto enum_names(attempt_event) {
  using enum attempt_event;
  return enumerators<attempt_event>(task_failed, "TASK_FAILED", barrier_failed, "BARRIER_FAILED",
                                    worker_lost, "WORKER_LOST", worker_back, "WORKER_BACK", hangs,
                                    "HANGS", moves_again, "MOVES_AGAIN");
}

struct attempt_record {
  struct event {
    time_point at{};
    attempt_event kind{};
    std::string about{};  ///< "worker:3", of the program or of the cluster's workers; or none
    std::string text{};

    bool operator==(event const&) const = default;
  };
  /// A barrier of its coordination cluster that all came to.
  struct meeting {
    std::string barrier{};
    std::int64_t counter = 0;
    time_point ended{};
    std::uint32_t participants = 0;
    std::string last{}, host{};  ///< the task that came last
    duration late{};             ///< after the median
    duration spread{};           ///< from the first to the last
    /// When each came, if there was room for all of them.
    struct arrival {
      std::uint32_t rank = 0;
      std::uint32_t after_us = 0;  ///< the first of them

      bool operator==(arrival const&) const = default;
    };
    std::vector<arrival> came{};

    bool operator==(meeting const&) const = default;
  };
  /// Over these barriers.
  struct latecomer {
    std::string task{}, host{};
    std::uint32_t last = 0;  ///< how often it was
    std::uint32_t barriers = 0;
    duration late_mean{}, late_max{};

    bool operator==(latecomer const&) const = default;
  };
  /// Of ranks with equal stacks, just before they were killed.
  struct stack {
    stack_state state{};
    std::string text{};
    std::string process{};  ///< of the first of them
    std::vector<std::uint32_t> ranks{};

    bool operator==(stack const&) const = default;
  };
  /// One that has ended, with the last that it has printed.
  struct ended_rank {
    std::uint32_t rank = 0;
    std::string task{}, host{};
    time_point ended{};
    std::uint32_t exit_status = 0, signal = 0;
    std::string not_started{};
    bool stopped = false, lease_ran_out = false, out_of_memory = false;
    std::vector<std::string> stderr_lines{}, stdout_lines{};
    time_point started{};  ///< epoch: not known, or it never was

    bool operator==(ended_rank const&) const = default;
  };

  std::vector<event> events{};          ///< the oldest first
  std::vector<meeting> barriers{};      ///< the newest first
  std::vector<latecomer> latecomers{};  ///< the worst first
  std::vector<stack> stacks{};
  std::vector<ended_rank> ranks{};  ///< in the order of their ends
  /// What had no room: events, ranks without stack, ranks.
  std::uint32_t events_left_out = 0, stacks_left_out = 0, ranks_left_out = 0;

  bool operator==(attempt_record const&) const = default;
};

}  // namespace muster::core
