// Observations of a program's attempt, for diagnosis only. server/history/programs/black_box.hpp
// fills the record and enforces its limits.
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
  unknown = 0,  ///< the rank has not started or has ended
  taken = 1,
  not_python = 2,  ///< no Python process has registered, and the stack cannot be read
  stopped = 3,
  in_kernel = 4,
  no_answer = 5,
  off = 6,  ///< the worker was started with --stack-signal off
  away = 7,
  busy = 8,  ///< the worker is already serving the maximum number of requests
  native = 9,
};
constexpr auto enum_names(stack_state) {
  using enum stack_state;
  return enumerators<stack_state>(unknown, "UNKNOWN", taken, "TAKEN", not_python, "NOT_PYTHON",
                                  stopped, "STOPPED", in_kernel, "IN_KERNEL", no_answer,
                                  "NO_ANSWER", off, "OFF", away, "AWAY", busy, "BUSY", native,
                                  "NATIVE");
}

enum class attempt_event : std::uint8_t {
  task_failed = 0,  ///< a task of the coordination cluster failed
  barrier_failed = 1,
  worker_lost = 2,
  worker_back = 3,
  hangs = 4,
  progress_resumed = 5,
};
constexpr auto enum_names(attempt_event) {
  using enum attempt_event;
  return enumerators<attempt_event>(task_failed, "TASK_FAILED", barrier_failed, "BARRIER_FAILED",
                                    worker_lost, "WORKER_LOST", worker_back, "WORKER_BACK", hangs,
                                    "HANGS", progress_resumed, "MOVES_AGAIN");
}

struct attempt_record {
  struct event {
    time_point at{};
    attempt_event kind{};
    std::string about{};  ///< task such as "worker:3"; may be empty
    std::string text{};

    bool operator==(event const&) const = default;
  };
  /// A barrier that all tasks have reached.
  struct meeting {
    std::string barrier{};
    std::int64_t counter = 0;
    time_point ended{};
    std::uint32_t participants = 0;
    std::string last{}, host{};
    duration late{};  ///< time between the median arrival and the last arrival
    duration spread{};
    /// Arrival of one task. Arrivals are recorded only if there is space for all tasks.
    struct arrival {
      std::uint32_t rank = 0;
      std::uint32_t after_us = 0;

      bool operator==(arrival const&) const = default;
    };
    std::vector<arrival> came{};

    bool operator==(meeting const&) const = default;
  };
  struct late_task {
    std::string task{}, host{};
    std::uint32_t last = 0;  ///< number of barriers at which the task arrived last
    std::uint32_t barriers = 0;
    duration late_mean{}, late_max{};

    bool operator==(late_task const&) const = default;
  };
  /// Ranks with equal stacks, sampled before the ranks were killed.
  struct stack {
    stack_state state{};
    std::string text{};
    std::string process{};
    std::vector<std::uint32_t> ranks{};

    bool operator==(stack const&) const = default;
  };
  struct ended_rank {
    std::uint32_t rank = 0;
    std::string task{}, host{};
    time_point ended{};
    std::uint32_t exit_status = 0, signal = 0;
    std::string not_started{};
    bool stopped = false, lease_ran_out = false, out_of_memory = false;
    std::vector<std::string> stderr_lines{}, stdout_lines{};
    time_point started{};  ///< the epoch if unknown, or if the rank never started

    bool operator==(ended_rank const&) const = default;
  };

  std::vector<event> events{};      ///< oldest first
  std::vector<meeting> barriers{};  ///< newest first
  std::vector<late_task> latecomers{};
  std::vector<stack> stacks{};
  std::vector<ended_rank> ranks{};  ///< ordered by exit time
  /// Numbers of entries that were omitted because of limits.
  std::uint32_t events_left_out = 0, stacks_left_out = 0, ranks_left_out = 0;

  bool operator==(attempt_record const&) const = default;
};

}  // namespace muster::core
