// The check of a fuzz target.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace fuzz {

/// Aborts with `promise` if it does not hold, which the fuzzer reports with its input.
inline void require(bool holds, char const* promise) {
  if (holds) return;
  std::fprintf(stderr, "property violated: %s\n", promise);
  std::abort();
}

}  // namespace fuzz
