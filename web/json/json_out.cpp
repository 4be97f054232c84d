#include "web/json/json_out.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/utf8.hpp"

namespace muster::web {

namespace {

void append_escaped(std::string& to, unsigned char c) {
  static constexpr char hex[] = "0123456789abcdef";
  switch (c) {
    case '"':
      to += "\\\"";
      break;
    case '\\':
      to += "\\\\";
      break;
    case '\n':
      to += "\\n";
      break;
    case '\r':
      to += "\\r";
      break;
    case '\t':
      to += "\\t";
      break;
    default:
      to += "\\u00";
      to += hex[c >> 4];
      to += hex[c & 15];
  }
}

bool plain(char c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

bool beyond_ascii(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

void append_json_string(std::string& to, std::string_view text) {
  to += '"';
  while (!text.empty()) {
    auto const run = std::find_if_not(text.begin(), text.end(), plain);
    to.append(text.begin(), run);
    text.remove_prefix(static_cast<std::size_t>(run - text.begin()));
    if (text.empty()) break;
    // No UTF-8 sequence contains an ASCII byte, so the run before the next ASCII byte can be
    // checked separately.
    auto const ascii = std::find_if_not(text.begin(), text.end(), beyond_ascii);
    auto const rest = text.substr(0, static_cast<std::size_t>(ascii - text.begin()));
    if (rest.empty())
      append_escaped(to, static_cast<unsigned char>(text.front()));
    else
      to += to_utf8(rest);
    text.remove_prefix(std::max<std::size_t>(1, rest.size()));
  }
  to += '"';
}

json_out& json_out::key(std::string_view name) {
  separate();
  append_json_string(to_, name);
  to_ += ':';
  comma_ = false;
  return *this;
}

json_out& json_out::string(std::string_view text) {
  separate();
  append_json_string(to_, text);
  return *this;
}

json_out& json_out::number(double n) {
  if (!std::isfinite(n) || std::fabs(n) > 1e15) n = 0;
  char text[32];
  auto const end = std::to_chars(text, text + sizeof text, std::round(n * 1000) / 1000).ptr;
  return token({text, end});
}

json_out& json_out::raw(std::string_view json) {
  separate();
  auto const from = to_.size();
  to_ += json;
  for (auto i = from; i < to_.size(); ++i)
    if (to_[i] == '\n' || to_[i] == '\r') to_[i] = ' ';
  return *this;
}

json_out& json_out::open(char c) {
  separate();
  to_ += c;
  comma_ = false;
  return *this;
}

json_out& json_out::close(char c) {
  to_ += c;
  comma_ = true;
  return *this;
}

json_out& json_out::token(std::string_view text) {
  separate();
  to_ += text;
  return *this;
}

}  // namespace muster::web
