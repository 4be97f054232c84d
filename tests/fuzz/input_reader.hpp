// Divides the input of a fuzz target into numbers and pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fuzz {

class input_reader {
 public:
  input_reader(std::uint8_t const* data, std::size_t size)
      : left_(reinterpret_cast<char const*>(data), size) {}

  bool at_end() const { return left_.empty(); }
  /// Returns 0 at the end of the input.
  unsigned byte() {
    if (left_.empty()) return 0;
    auto const first = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    return first;
  }
  /// Returns a number of two bytes, little endian.
  unsigned two_bytes() {
    auto const low = byte();
    return low | byte() << 8;
  }
  /// Returns fewer than `size` bytes at the end of the input.
  std::string_view piece(std::size_t size) {
    auto const taken = left_.substr(0, size);
    left_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() { return piece(left_.size()); }

 private:
  std::string_view left_;
};

}  // namespace fuzz
