// Thrown by a function to say exactly how its closure fails. Any other exception becomes a USER
// failure with the exception's type name and what().
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

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

}  // namespace muster
