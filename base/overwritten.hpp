// Visible text of a terminal line that was overwritten, such as a progress bar.
#pragma once

#include <string_view>

namespace muster {

/// Returns the text after the last carriage return that is not at the end of the line.
inline std::string_view overwritten(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  return line.substr(line.rfind('\r') + 1);  // npos + 1 is 0
}

}  // namespace muster
