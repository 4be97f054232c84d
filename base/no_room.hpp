// Errors caused by a full disk: RESOURCE_EXHAUSTED plus a flag, because HTTP has a separate status
// code (507).
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace muster {

inline status no_room(std::string_view where, std::string_view why) {
  status s{code::resource_exhausted,
           std::string("no space left in ").append(where).append(": ").append(why)};
  s.no_room = true;
  return s;
}
inline bool is_no_room(status const& s) {
  return s.no_room;
}

}  // namespace muster
