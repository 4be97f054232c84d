// Exceptions of a coordination_agent. The agent's members also throw wait_timeout
// (closure_error.hpp) when the timeout of a call expires; the operation continues.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "muster/closure_error.hpp"

namespace muster {

/// Error codes with gRPC's names and numbers.
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
/// Returns the name of a code, for example "FAILED_PRECONDITION".
/// @param c  the code
std::string_view name(coordination_code c) noexcept;

/// The service rejected a call, or could not be reached (unavailable).
class coordination_error : public std::runtime_error {
 public:
  /// Constructs the error.
  /// @param c  the code
  /// @param message  what failed and why
  coordination_error(coordination_code c, std::string const& message)
      : std::runtime_error(std::string(name(c)) + ": " + message), code_(c) {}

  /// Returns the code.
  coordination_code code() const noexcept { return code_; }

 private:
  coordination_code code_;
};

/// A barrier ended without all participants: it timed out, was cancelled, or a participant failed.
class coordination_barrier_error : public coordination_error {
 public:
  /// Constructs the error.
  /// @param c  the code
  /// @param message  what failed and why
  /// @param barrier  barrier ID
  /// @param use  how many times the barrier ID was used before
  coordination_barrier_error(coordination_code c, std::string const& message, std::string barrier,
                             std::int64_t use)
      : coordination_error(c, message), barrier_(std::move(barrier)), use_(use) {}

  /// Returns the barrier ID.
  std::string const& barrier() const noexcept { return barrier_; }
  /// Returns how many times the barrier ID was used before.
  std::int64_t use() const noexcept { return use_; }

 private:
  std::string barrier_;
  std::int64_t use_;
};

/// The agent, or the whole run, has failed. The agent must connect again.
class agent_error : public coordination_error {
 public:
  /// Constructs the error.
  /// @param c  the code
  /// @param message  what failed and why
  /// @param task  the task that failed first
  /// @param reported  whether the task reported the error itself
  agent_error(coordination_code c, std::string const& message, std::optional<std::uint32_t> task,
              bool reported)
      : coordination_error(c, message), task_(task), reported_(reported) {}

  /// Returns the task that failed first, if the service knows it.
  std::optional<std::uint32_t> task() const noexcept { return task_; }
  /// Returns true if the failed task reported the error itself with report_error.
  bool reported() const noexcept { return reported_; }

 private:
  std::optional<std::uint32_t> task_;
  bool reported_;
};

}  // namespace muster
