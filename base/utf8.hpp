// UTF-8, checked and repaired: Protobuf strings and JSON must be it; what functions throw or print
// need not. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

namespace muster {

bool is_utf8(std::string_view text);
/// Each byte that is not part of valid UTF-8 becomes U+FFFD.
std::string to_utf8(std::string_view text);

}  // namespace muster
