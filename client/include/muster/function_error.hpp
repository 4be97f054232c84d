// Thrown by a function to say exactly how its closure fails. Any other exception becomes a USER
// failure with the exception's type name and what().
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "muster/value.hpp"

namespace muster {

class function_error : public std::runtime_error {
 public:
  explicit function_error(std::string const& message, std::string type = "muster::function_error",
                          std::string traceback = {})
      : function_error(failure_kind::user, message, std::move(type), std::move(traceback)) {}

  function_error(failure_kind kind, std::string const& message, std::string type = {},
                 std::string traceback = {})
      : std::runtime_error(message),
        kind_(kind),
        type_(std::move(type)),
        traceback_(std::move(traceback)) {}

  failure_kind kind() const noexcept { return kind_; }
  std::string const& type() const noexcept { return type_; }
  std::string const& traceback() const noexcept { return traceback_; }

 private:
  failure_kind kind_;
  std::string type_;
  std::string traceback_;
};

/// A task that the function relies on is gone, such as a parameter server. The closure is tried
/// again; the third report of the same task within ten minutes fails the session with UNAVAILABLE
/// (the server's settings say how many and how long).
class dependency_lost : public function_error {
 public:
  /// `dependencies`: names of tasks, "ps:1"; at least one, each counts.
  dependency_lost(std::vector<std::string> dependencies, std::string const& message)
      : function_error(failure_kind::dependency_lost, message, "muster::dependency_lost"),
        dependencies_(std::move(dependencies)) {}

  std::vector<std::string> const& dependencies() const noexcept { return dependencies_; }

 private:
  std::vector<std::string> dependencies_;
};

}  // namespace muster
