#include "web/json/json_out.hpp"

#include <charconv>
#include <cmath>

namespace muster::web {

namespace {

// Length of the well-formed UTF-8 sequence at `at`, 0 if there is none (RFC 3629: no surrogates,
// no overlong forms, nothing above U+10FFFF).
std::size_t sequence_length(std::string_view text, std::size_t at) {
  auto const byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  auto const tail = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  unsigned const first = byte(at), second = byte(at + 1);
  if (first >= 0xC2 && first <= 0xDF) return tail(at + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0 && second < 0xA0) return 0;
    if (first == 0xED && second > 0x9F) return 0;
    return tail(at + 1) && tail(at + 2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0 && second < 0x90) return 0;
    if (first == 0xF4 && second > 0x8F) return 0;
    return tail(at + 1) && tail(at + 2) && tail(at + 3) ? 4 : 0;
  }
  return 0;
}

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

bool plain(unsigned char c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

}  // namespace

void append_json_string(std::string& to, std::string_view text) {
  to += '"';
  std::size_t i = 0;
  while (i < text.size()) {
    std::size_t run = i;
    while (run < text.size() && plain(static_cast<unsigned char>(text[run]))) ++run;
    to.append(text, i, run - i);
    i = run;
    if (i == text.size()) break;
    auto const c = static_cast<unsigned char>(text[i]);
    if (c < 0x80) {
      append_escaped(to, c);
      ++i;
    } else if (auto const n = sequence_length(text, i); n > 0) {
      to.append(text, i, n);
      i += n;
    } else {
      to += "\xEF\xBF\xBD";
      ++i;
    }
  }
  to += '"';
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    auto const n = static_cast<unsigned char>(text[at]) < 0x80 ? 1 : sequence_length(text, at);
    if (n == 0) return false;
    at += n;
  }
  return true;
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

json_out& json_out::boolean(bool b) {
  separate();
  to_ += b ? "true" : "false";
  return *this;
}

json_out& json_out::null() {
  separate();
  to_ += "null";
  return *this;
}

json_out& json_out::number(double n) {
  separate();
  if (!std::isfinite(n) || std::fabs(n) > 1e15) n = 0;
  char text[32];
  auto const end = std::to_chars(text, text + sizeof text, std::round(n * 1000) / 1000).ptr;
  to_.append(text, end);
  return *this;
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

json_out& json_out::integer(std::int64_t n) {
  separate();
  char text[24];
  to_.append(text, std::to_chars(text, text + sizeof text, n).ptr);
  return *this;
}

json_out& json_out::natural(std::uint64_t n) {
  separate();
  char text[24];
  to_.append(text, std::to_chars(text, text + sizeof text, n).ptr);
  return *this;
}

}  // namespace muster::web
