// etcd versions that can return stale data. Pure and thread-safe functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace muster::server::journal::etcd {

/// Oldest version known to contain the fix of etcd issue 20418. Some earlier patch releases also
/// contain the fix.
inline constexpr std::array<std::uint64_t, 3> fixed_version{3, 6, 9};

/// Returns whether `version`, such as "3.4.23", is older than `fixed_version`. Returns false for an
/// invalid version.
inline bool can_answer_with_old_data(std::string_view version) {
  std::array<std::uint64_t, 3> parts{};
  for (auto& part : parts) {
    auto const end = std::min(version.find_first_of(".-+"), version.size());
    auto const number = parse_number(version.substr(0, end));
    if (!number) return false;
    part = *number;
    version.remove_prefix(std::min(end + 1, version.size()));
  }
  return parts < fixed_version;
}

}  // namespace muster::server::journal::etcd
