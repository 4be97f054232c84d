// Thrown by a worker function that has come to the end of its data: the others are asked to stop,
// and that is no error. Nothing else means that; std::out_of_range is an error like any other.
#pragma once

#include <stdexcept>
#include <string>

namespace muster {

class end_of_data : public std::runtime_error {
 public:
  explicit end_of_data(std::string const& what = "the end of the data")
      : std::runtime_error(what) {}
};

}  // namespace muster
