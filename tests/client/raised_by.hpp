// Returns the message of an exception.
#pragma once

#include <exception>
#include <string>

namespace muster::test {

/// Returns an empty string if `f` throws nothing.
template <class F>
std::string raised_by(F f) {
  try {
    f();
    return {};
  } catch (std::exception const& e) {
    return e.what();
  }
}

}  // namespace muster::test
