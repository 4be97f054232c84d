// What a terminal shows of a line that was drawn again and again, as a progress bar is.
#pragma once

#include <string_view>

namespace muster {

/// Returns the text of a line behind its last carriage return, as text there replaces the text
/// before it. A carriage return at the end changes nothing yet.
inline std::string_view overwritten(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(line.rfind('\r') + 1);  // npos + 1 is 0
}

}  // namespace muster
