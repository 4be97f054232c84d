// Sanitizers make tests ten times slower and check memory, for which a few seeds suffice. Other
// builds play all seeds.
#pragma once

namespace muster {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

constexpr unsigned seeds_to_play(unsigned seeds) {
  return sanitized ? seeds / 4 : seeds;
}

}  // namespace muster
