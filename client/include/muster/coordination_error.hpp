// How the calls of a coordination_agent fail. The subtypes say what a program usually wants to tell
// apart; code() says it exactly, by gRPC's names and numbers.
//
//   coordination_error            it was refused, or the service not reached (unavailable)
//     coordination_barrier_error  the barrier ended without everybody: timed out, cancelled, failed
//     agent_error                 the agent or the whole run has failed; it must connect again
//   wait_timeout                  (closure_error.hpp) the call's time was up; what it waited for
//                                 goes on
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "muster/closure_error.hpp"

namespace muster {

enum class coordination_code : std::uint8_t {
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
};
/// "FAILED_PRECONDITION"
std::string_view name(coordination_code c) noexcept;

class coordination_error : public std::runtime_error {
 public:
  coordination_error(coordination_code c, std::string const& message)
      : std::runtime_error(std::string(name(c)) + ": " + message), code_(c) {}

  coordination_code code() const noexcept { return code_; }

 private:
  coordination_code code_;
};

class coordination_barrier_error : public coordination_error {
 public:
  coordination_barrier_error(coordination_code c, std::string const& message, std::string barrier,
                             std::int64_t use)
      : coordination_error(c, message), barrier_(std::move(barrier)), use_(use) {}

  std::string const& barrier() const noexcept { return barrier_; }
  /// Which use of the id, from 0.
  std::int64_t use() const noexcept { return use_; }

 private:
  std::string barrier_;
  std::int64_t use_;
};

class agent_error : public coordination_error {
 public:
  agent_error(coordination_code c, std::string const& message, std::optional<std::uint32_t> task,
              bool reported)
      : coordination_error(c, message), task_(task), reported_(reported) {}

  /// The task that it began with, as far as the service knows.
  std::optional<std::uint32_t> task() const noexcept { return task_; }
  /// That task said so itself, by report_error.
  bool reported() const noexcept { return reported_; }

 private:
  std::optional<std::uint32_t> task_;
  bool reported_;
};

}  // namespace muster
