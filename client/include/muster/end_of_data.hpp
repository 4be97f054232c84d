// An exception that ends a worker function without an error.
#pragma once

#include <stdexcept>
#include <string>

namespace muster {

/// Thrown by a worker function that has reached the end of its data. The other worker functions are
/// asked to stop, and no error is reported. All other exceptions, for example std::out_of_range,
/// are errors.
class end_of_data : public std::runtime_error {
 public:
  /// Constructs the exception.
  /// @param what  the message
  explicit end_of_data(std::string const& what = "the end of the data")
      : std::runtime_error(what) {}
};

}  // namespace muster
