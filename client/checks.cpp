// The server's limits, told before anything is sent.
#include "client/checks.hpp"

#include <absl/strings/escaping.h>

#include <algorithm>
#include <stdexcept>

#include "base/utf8.hpp"

namespace muster {
namespace {

constexpr std::size_t args_bytes_max = std::size_t{48} << 20;

}  // namespace

void check_function_name(std::string_view name) {
  if (name.empty() || name.size() > 256 || !is_utf8(name))
    throw std::invalid_argument("a function's name has 1 to 256 bytes of UTF-8");
}

void check_argument_bytes(std::size_t bytes) {
  if (bytes > args_bytes_max)
    throw std::invalid_argument("arguments of " + std::to_string(bytes) + " bytes, the limit is " +
                                std::to_string(args_bytes_max));
}

void check_callable(std::string_view display_name, std::string_view hash) {
  auto const control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (display_name.size() > 256 || !is_utf8(display_name) ||
      std::any_of(display_name.begin(), display_name.end(), control))
    throw std::invalid_argument(
        "display_name: it has 1 to 256 bytes of UTF-8 without control characters");
  if (hash.empty()) return;
  if (display_name.empty())
    throw std::invalid_argument("callable: it is a hash and needs a display_name");
  if (hash_bytes(hash).empty())
    throw std::invalid_argument("callable: it has 64 hexadecimal digits in lower case");
}

std::string hash_bytes(std::string_view digits) {
  if (digits.size() != 64 || digits.find_first_not_of("0123456789abcdef") != digits.npos) return {};
  return absl::HexStringToBytes({digits.data(), digits.size()});
}

std::string in_ms(std::chrono::milliseconds t) {
  return std::to_string(t.count()) + " ms";
}

}  // namespace muster
