// Which versions of etcd can answer with old data. Pure, any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.hpp"

namespace muster::server::journal::etcd {

/// The oldest version that is known to have the fix of etcd issue 20418. Patches for the release
/// lines before 3.6 have it as well since spring 2026; which ones is not known here.
inline constexpr std::array<std::uint64_t, 3> fixed_version{3, 6, 9};

/// Returns whether `version`, such as "3.4.23", is older than `fixed_version`. False: it is no
/// version.
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
