// Pure functions that validate and repair UTF-8, which Protobuf strings and JSON require.
#pragma once

#include <string>
#include <string_view>

namespace muster {

bool is_utf8(std::string_view text);
/// Replaces each byte that is not part of valid UTF-8 with U+FFFD.
std::string to_utf8(std::string_view text);
/// Returns the largest position, at most `bytes`, that does not split a character.
/// @pre `text` is valid UTF-8 with more than `bytes` bytes.
inline std::size_t utf8_boundary(std::string_view text, std::size_t bytes) {
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0) == 0x80) --bytes;
  return bytes;
}
/// Returns the text, or at most its first `most` bytes and an ellipsis.
/// @pre `text` is valid UTF-8.
inline std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  return std::string(text.substr(0, utf8_boundary(text, most))) + "…";
}

}  // namespace muster
