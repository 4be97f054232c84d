// Work is refused since a disk is full: RESOURCE_EXHAUSTED, as other limits are, with a text that
// begins so. HTTP has a status of its own for it (507). Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace muster {

inline constexpr std::string_view no_room_begins = "no room in ";

/// "no room in `where`: `why`".
inline status no_room(std::string_view where, std::string_view why) {
  return {code::resource_exhausted,
          std::string(no_room_begins).append(where).append(": ").append(why)};
}
inline bool is_no_room(status const& s) {
  return s.code == code::resource_exhausted && s.message.starts_with(no_room_begins);
}

}  // namespace muster
