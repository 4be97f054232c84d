// Whether a test runs under AddressSanitizer or ThreadSanitizer. It looks at memory there, on which
// few seeds tell as much as many, and takes ten times as long; what the rules are about is proved
// by the others.
#pragma once

namespace muster {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// How many of `seeds` a test plays.
constexpr unsigned seeds_to_play(unsigned seeds) {
  return sanitized ? seeds / 4 : seeds;
}

}  // namespace muster
