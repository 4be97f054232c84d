#include "base/text.hpp"

#include <absl/strings/ascii.h>
#include <absl/strings/escaping.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <charconv>

#include "base/utf8.hpp"

namespace muster {

namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Debian's version of Abseil has its own string_view.
absl::string_view as_absl(std::string_view text) {
  return {text.data(), text.size()};
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
  return absl::StrCat(absl::Hex(n, absl::kZeroPad16));
}

std::string with_thousands(std::uint64_t n) {
  auto digits = std::to_string(n);
  for (auto at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string counted(std::uint64_t n, std::string_view one, std::string_view many) {
  auto text = with_thousands(n) + ' ';
  text += n == 1 || many.empty() ? one : many;
  if (n != 1 && many.empty()) text += 's';
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

bool is_duration(std::string_view text) {
  std::string small;  // contains one digit for each number, which always fits
  for (char const c : text) {
    bool const digit = absl::ascii_isdigit(static_cast<unsigned char>(c));
    if (!digit || small.empty() || small.back() != '1') small += digit ? '1' : c;
  }
  return text == "0" || parse_duration(small).has_value();
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t n = 0;
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return {};
  return n;
}

std::optional<std::int64_t> parse_task_index(std::string_view text) {
  auto const n = parse_number(text);
  if (!n || text.size() > 18) return {};
  return static_cast<std::int64_t>(*n);
}

std::string escaped(std::string_view text) {
  return absl::Utf8SafeCHexEscape(as_absl(to_utf8(text)));
}

std::string base64(std::string_view bytes) {
  return absl::Base64Escape(as_absl(bytes));
}

std::string base64_for_urls(std::string_view bytes) {
  return absl::WebSafeBase64Escape(as_absl(bytes));
}

// Abseil's decoder also skips blanks and accepts dots as padding, but rejects the other alphabet
// and partial padding. The input is therefore normalised first.
std::optional<std::string> from_base64(std::string_view text) {
  bool const padded = text.ends_with('=');
  if (padded && text.size() % 4 != 0) return {};
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string digits(text);
  for (char& c : digits) {
    c = c == '-' ? '+' : c == '_' ? '/' : c;
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '/') return {};
  }
  std::string bytes;
  if (!absl::Base64Unescape(digits, &bytes)) return {};
  return bytes;
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus) {
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

std::string percent_encoded(std::string_view text) {
  static constexpr std::string_view digits = "0123456789ABCDEF", marks = "-._~";
  std::string out;
  for (unsigned char const c : text) {
    if (absl::ascii_isalnum(c) || marks.find(static_cast<char>(c)) != std::string_view::npos) {
      out += static_cast<char>(c);
    } else {
      out += '%';
      out += digits[c >> 4];
      out += digits[c & 15];
    }
  }
  return out;
}

std::string lower(std::string_view text) {
  return absl::AsciiStrToLower(as_absl(text));
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase(as_absl(a), as_absl(b));
}

}  // namespace muster
