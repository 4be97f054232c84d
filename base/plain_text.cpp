#include "base/plain_text.hpp"

#include <array>
#include <charconv>

namespace muster {

std::string plain_decimal(double number) {
  std::array<char, 400> text{};
  auto const end =
      std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed).ptr;
  return {text.data(), end};
}

}  // namespace muster
