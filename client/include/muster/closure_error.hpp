// Exceptions for the failure of a call or of a session.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "muster/value.hpp"

namespace muster {

/// The failure of a call or of a session. Programs usually handle each subtype differently; kind()
/// is more precise. If the exception is not of a subtype, the function threw (USER) or a deadline
/// passed (TIMEOUT).
class closure_error : public std::runtime_error {
 public:
  /// Constructs the error from a failure.
  /// @param f  the failure
  explicit closure_error(muster::failure f)
      : std::runtime_error(std::string(name(f.kind)) + ": " + f.message), failure_(std::move(f)) {}

  /// Returns all fields of the failure.
  muster::failure const& failure() const noexcept { return failure_; }
  /// Returns the failure kind; use it to decide how to react.
  failure_kind kind() const noexcept { return failure_.kind; }
  /// Returns the error's class name in the language of the function; can be empty.
  std::string const& type() const noexcept { return failure_.type; }
  /// Returns the error message without the kind.
  std::string const& message() const noexcept { return failure_.message; }
  /// Returns the error's stack trace; can be empty.
  std::string const& traceback() const noexcept { return failure_.traceback; }
  /// Returns the worker that ran the call, for example "worker:3"; empty if the call did not run.
  std::string const& worker() const noexcept { return failure_.worker; }
  /// Returns the number of the failed attempt; 0 if the call never ran.
  std::uint32_t attempt() const noexcept { return failure_.attempt; }

 private:
  muster::failure failure_;
};

/// An argument could not be converted, or a call whose output is an argument failed.
struct input_error : closure_error {
  using closure_error::closure_error;
};
/// The call was cancelled by a user, or because another scheduled call failed.
struct cancelled_error : closure_error {
  using closure_error::closure_error;
};
/// Workers were lost too often; see coordinator_options::max_worker_failures.
struct aborted_error : closure_error {
  using closure_error::closure_error;
};
/// The server, or a job that the function needs, is unavailable.
struct unavailable_error : closure_error {
  using closure_error::closure_error;
};

/// Throws the exception type that matches the failure's kind.
/// @param f  the failure
/// @throws closure_error  or a subtype
[[noreturn]] void raise(failure f);

/// A wait has timed out. The operation itself continues.
class wait_timeout : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace muster
