// Numbers, durations, base64 and percent escapes as text, and back.
#include "base/text.hpp"

#include <algorithm>
#include <charconv>

namespace muster {

namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";
constexpr std::string_view base64_digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int base64_value(char c) {
  if (c == '-') c = '+';
  if (c == '_') c = '/';
  auto const at = base64_digits.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

std::optional<std::int64_t> unit_us(std::string_view unit) {
  static constexpr std::pair<std::string_view, std::int64_t> units[] = {
      {"us", 1},         {"ms", 1'000},        {"s", 1'000'000},
      {"m", 60'000'000}, {"h", 3'600'000'000}, {"d", 86'400'000'000}};
  for (auto const& [name, us] : units)
    if (unit == name) return us;
  return {};
}

}  // namespace

std::string hex16(std::uint64_t n) {
  std::string text(16, '0');
  for (auto i = 16; i-- > 0; n >>= 4) text[static_cast<std::size_t>(i)] = hex_digits[n & 15];
  return text;
}

std::optional<std::chrono::microseconds> parse_duration(std::string_view text) {
  if (text == "0") return std::chrono::microseconds(0);
  if (text.empty()) return {};
  std::int64_t total = 0;
  while (!text.empty()) {
    auto const digits = std::min(text.find_first_not_of("0123456789"), text.size());
    auto const count = parse_number(text.substr(0, digits));
    text.remove_prefix(digits);
    auto const letters = std::min(text.find_first_of("0123456789"), text.size());
    auto const unit = unit_us(text.substr(0, letters));
    text.remove_prefix(letters);
    std::int64_t part = 0;
    if (!count || !unit || *count > INT64_MAX) return {};
    if (__builtin_mul_overflow(static_cast<std::int64_t>(*count), *unit, &part)) return {};
    if (__builtin_add_overflow(total, part, &total)) return {};
  }
  return std::chrono::microseconds(total);
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t n = 0;
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return {};
  return n;
}

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    auto const byte = [&](std::size_t k) {
      return k < bytes.size() ? static_cast<unsigned char>(bytes[k]) : 0u;
    };
    unsigned const word = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += base64_digits[word >> 18];
    text += base64_digits[word >> 12 & 63];
    text += i + 1 < bytes.size() ? base64_digits[word >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? base64_digits[word & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return {};
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  unsigned word = 0;
  int bits = 0;
  for (char const c : text) {
    int const digit = base64_value(c);
    if (digit < 0) return {};
    word = word << 6 | static_cast<unsigned>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(word >> bits & 0xff);
  }
  return bytes;
}

std::optional<std::string> unescape(std::string_view text, bool plus) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      out += ' ';
    } else if (text[i] == '%') {
      if (i + 2 >= text.size()) return {};
      int const high = hex_value(text[i + 1]), low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return {};
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string escape_path(std::string_view text) {
  static constexpr std::string_view free = "-._~";
  std::string out;
  for (unsigned char const c : text) {
    bool const letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || free.find(static_cast<char>(c)) != std::string_view::npos) {
      out += static_cast<char>(c);
    } else {
      out += '%';
      out += "0123456789ABCDEF"[c >> 4];
      out += "0123456789ABCDEF"[c & 15];
    }
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && lower(a) == lower(b);
}

}  // namespace muster
