// Exceptions by which a function determines how its call fails.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "muster/value.hpp"

namespace muster {

/// Thrown by a function to determine how its call fails. Any other exception fails the call with
/// kind USER, the exception's type name and what().
class function_error : public std::runtime_error {
 public:
  /// Fails the call with kind USER.
  /// @param message  what failed and why
  /// @param type  class name of the error
  /// @param traceback  stack trace; can be empty
  explicit function_error(std::string const& message, std::string type = "muster::function_error",
                          std::string traceback = {})
      : function_error(failure_kind::user, message, std::move(type), std::move(traceback)) {}

  /// Fails the call with any kind.
  /// @param kind  how the call fails
  /// @param message  what failed and why
  /// @param type  class name of the error; can be empty
  /// @param traceback  stack trace; can be empty
  function_error(failure_kind kind, std::string const& message, std::string type = {},
                 std::string traceback = {})
      : std::runtime_error(message),
        kind_(kind),
        type_(std::move(type)),
        traceback_(std::move(traceback)) {}

  /// Returns the failure kind.
  failure_kind kind() const noexcept { return kind_; }
  /// Returns the class name of the error; can be empty.
  std::string const& type() const noexcept { return type_; }
  /// Returns the stack trace; can be empty.
  std::string const& traceback() const noexcept { return traceback_; }

 private:
  failure_kind kind_;
  std::string type_;
  std::string traceback_;
};

/// A task that the function needs, such as a parameter server, is unavailable. The call is retried.
/// By default, the third such report about the same task within ten minutes fails the session with
/// UNAVAILABLE. Both limits are server settings.
class dependency_lost : public function_error {
 public:
  /// Constructs the error.
  /// @param dependencies  names of the unavailable tasks, for example "ps:1"; at least one
  /// @param message  what failed and why
  dependency_lost(std::vector<std::string> dependencies, std::string const& message)
      : function_error(failure_kind::dependency_lost, message, "muster::dependency_lost"),
        dependencies_(std::move(dependencies)) {}

  /// Returns the names of the unavailable tasks.
  std::vector<std::string> const& dependencies() const noexcept { return dependencies_; }

 private:
  std::vector<std::string> dependencies_;
};

}  // namespace muster
