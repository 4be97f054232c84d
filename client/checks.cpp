// The server's limits, told before anything is sent.
#include "client/checks.hpp"

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

std::string in_ms(std::chrono::milliseconds t) {
  return std::to_string(t.count()) + " ms";
}

}  // namespace muster
