// UTF-8, checked and repaired: Protobuf strings and JSON must be it; what functions throw or print
// need not. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace muster {

bool is_utf8(std::string_view text);
/// Each byte that is not part of valid UTF-8 becomes U+FFFD.
std::string to_utf8(std::string_view text);
/// Where to cut the text so that it has at most `bytes` and no sequence is torn. REQUIRES: valid
/// UTF-8 of more bytes.
inline std::size_t border_at(std::string_view text, std::size_t bytes) {
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return bytes;
}
/// The text, or its first `most` bytes and an ellipsis. REQUIRES: valid UTF-8.
inline std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  return std::string(text.substr(0, border_at(text, most))) + "…";
}

}  // namespace muster
