#include <boost/json.hpp>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "client/variables/checkpoint_files.hpp"

namespace muster::detail {
namespace {

namespace json = boost::json;

void append_text(std::string& to, std::string_view text) {
  auto const escaped = [&to](unsigned n) {
    char digits[11];  // large enough for any number, as the compiler must assume
    std::snprintf(digits, sizeof digits, "\\u%04x", n);
    to += digits;
  };
  to += '"';
  for (std::size_t i = 0; i < text.size();) {
    auto const c = static_cast<unsigned char>(text[i]);
    if (c >= 0x80) {  // valid UTF-8, because it comes from parsed JSON or checked names
      int const more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
      unsigned point = c & (0x3f >> more);
      for (int k = 1; k <= more && i + static_cast<std::size_t>(k) < text.size(); ++k)
        point =
            point << 6 | (static_cast<unsigned char>(text[i + static_cast<std::size_t>(k)]) & 0x3f);
      if (point >= 0x10000) {
        escaped(0xd800 + ((point - 0x10000) >> 10));
        escaped(0xdc00 + ((point - 0x10000) & 0x3ff));
      } else {
        escaped(point);
      }
      i += static_cast<std::size_t>(more) + 1;
      continue;
    }
    ++i;
    constexpr std::string_view named = "\"\\\n\r\t\b\f", letters = "\"\\nrtbf";
    if (auto const at = named.find(static_cast<char>(c)); at != named.npos)
      to += '\\', to += letters[at];
    else if (c < ' ' || c > '~')
      escaped(c);
    else
      to += static_cast<char>(c);
  }
  to += '"';
}

void append(std::string& to, json::value const& v) {
  if (auto const* o = v.if_object()) {
    std::map<std::string_view, json::value const*> sorted;
    for (auto const& [key, member] : *o) sorted.emplace(key, &member);
    char const* separator = "";
    to += '{';
    for (auto const& [key, member] : sorted) {
      to += std::exchange(separator, ", ");
      append_text(to, key);
      to += ": ";
      append(to, *member);
    }
    to += '}';
  } else if (auto const* a = v.if_array()) {
    char const* separator = "";
    to += '[';
    for (auto const& member : *a) {
      to += std::exchange(separator, ", ");
      append(to, member);
    }
    to += ']';
  } else if (auto const* s = v.if_string()) {
    append_text(to, *s);
  } else {
    to += json::serialize(v);
  }
}

}  // namespace

// Sorts keys by code points, which is the same as sorting by UTF-8 bytes.
std::string python_json(json::value const& v) {
  std::string text;
  append(text, v);
  return text;
}

}  // namespace muster::detail
