// utfcpp rejects overlong forms, surrogates and code points above U+10FFFF.
#include "base/utf8.hpp"

#include <utf8.h>

namespace muster {

bool is_utf8(std::string_view text) {
  return utf8::is_valid(text.begin(), text.end());
}

std::string to_utf8(std::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  for (auto at = text.begin();; ++at) {
    auto const bad = utf8::find_invalid(at, text.end());
    clean.append(at, bad);
    if (bad == text.end()) return clean;
    clean += "\xEF\xBF\xBD";
    at = bad;
  }
}

}  // namespace muster
