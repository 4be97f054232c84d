// What a call throws, as its text.
#pragma once

#include <exception>
#include <string>

namespace muster::test {

/// Empty: nothing.
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
