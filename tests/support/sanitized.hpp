// Detects AddressSanitizer and ThreadSanitizer. They make tests ten times slower and check memory,
// for which a few seeds suffice. Builds without them play all seeds and check the rules.
#pragma once

namespace muster {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// Returns how many of `seeds` a test plays.
constexpr unsigned seeds_to_play(unsigned seeds) {
  return sanitized ? seeds / 4 : seeds;
}

}  // namespace muster
