// Bytes as lower-case hexadecimal digits, two each. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace muster {

inline std::string hex(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (unsigned char const c : bytes) {
    text += "0123456789abcdef"[c >> 4];
    text += "0123456789abcdef"[c & 15];
  }
  return text;
}

}  // namespace muster
