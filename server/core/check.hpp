// Assertions on the core's own logic. They stay on in release builds: a coordinator that has lost
// count must not go on handing out work.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace muster::core {

inline void check(bool holds, char const* what,
                  std::source_location at = std::source_location::current()) {
  if (holds) return;
  std::fprintf(stderr, "muster: invariant broken: %s (%s:%u)\n", what, at.file_name(), at.line());
  std::abort();
}

}  // namespace muster::core
