// Assertions that stay enabled in release builds. A violation prints one line and aborts, because
// wrong state is worse than a restart. Thread-safe.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>

namespace muster {

[[noreturn]] inline void check_failed(char const* what, std::source_location where) {
  std::fprintf(stderr, "%s:%u: invariant broken: %s\n", where.file_name(), where.line(), what);
  std::abort();
}

// Aborts if `condition` is false. `condition` must have no side effects.
// @param what describes the violated condition in plain words
inline void check(bool condition, char const* what,
                  std::source_location where = std::source_location::current()) {
  if (!condition) [[unlikely]]
    check_failed(what, where);
}

}  // namespace muster
