// Assertions that stay on in release builds: a broken invariant prints one line and aborts, since
// going on with wrong state is worse than a restart. May be called from any thread.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace muster {

[[noreturn]] inline void check_failed(char const* what, std::source_location where) {
  std::fprintf(stderr, "%s:%u: invariant broken: %s\n", where.file_name(), where.line(), what);
  std::abort();
}

// REQUIRES: `condition` is free of side effects that the program needs, and `what` says in plain
// words what should have been true.
inline void check(bool condition, char const* what,
                  std::source_location where = std::source_location::current()) {
  if (!condition) [[unlikely]]
    check_failed(what, where);
}

}  // namespace muster
