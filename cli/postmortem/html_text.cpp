#include "cli/postmortem/html_text.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "cli/table.hpp"

namespace muster::cli::postmortem {
namespace {

struct character {
  char32_t code = 0;
  std::size_t bytes = 1;
};

// REQUIRES: the text is valid UTF-8.
character character_at(std::string_view text, std::size_t at) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  auto const first = byte(0);
  if (first < 0x80) return {first, 1};
  std::size_t const bytes = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  char32_t code = first & (0xFFU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) code = code << 6U | (byte(i) & 0x3FU);
  return {code, bytes};
}

// Returns true for invisible or misleading characters: controls, directional overrides, unusual
// line separators, and zero-width characters.
bool hides(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x61C || c == 0x200B || c == 0x200E ||
         c == 0x200F || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) ||
         c == 0xFEFF || (c >= 0xE0000 && c <= 0xE007F);
}

std::string by_number(char32_t c) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "<i>[U+%04X]</i>", static_cast<unsigned>(c));
  return text.data();
}

std::string escaped(std::string_view text, std::size_t bytes_max, bool as_lines) {
  auto const repaired = to_utf8(text);
  auto const kept =
      repaired.size() > bytes_max ? utf8_boundary(repaired, bytes_max) : repaired.size();
  std::string out;
  for (std::size_t i = 0; i < kept;) {
    auto const c = character_at(repaired, i);
    if (c.code == '&')
      out += "&amp;";
    else if (c.code == '<')
      out += "&lt;";
    else if (c.code == '>')
      out += "&gt;";
    else if (c.code == '"')
      out += "&quot;";
    else if (c.code == '\'')
      out += "&#39;";
    else if (hides(c.code) && !(as_lines && (c.code == '\n' || c.code == '\t')))
      out += by_number(c.code);
    else
      out.append(repaired, i, c.bytes);
    i += c.bytes;
  }
  if (kept < repaired.size())
    out += "<i>… " + with_thousands(repaired.size() - kept) + " more bytes</i>";
  return out;
}

// Removes colour sequences. Text after a carriage return replaces its line, as on a terminal.
std::string as_printed(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') {
      auto const next = text.find_first_not_of('\r', i);
      if (next != text.npos && text[next] != '\n') out.resize(out.rfind('\n') + 1);
      continue;
    }
    if (text.substr(i, 2) == "\x1b[") {
      auto const end = text.find_first_not_of("0123456789;", i + 2);
      if (end != text.npos && (text[end] == 'm' || text[end] == 'K')) {
        i = end;
        continue;
      }
    }
    out += text[i];
  }
  return out;
}

std::string with_one_decimal(double n) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.1f", n);
  return text.data();
}

std::string formatted(std::int64_t ms, char const* form) {
  auto const seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  std::array<char, 40> text{};
  if (ms <= 0 || gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text.data(), text.size(), form, &parts) == 0)
    return {};
  return text.data();
}

std::string two(std::int64_t a, char const* big, std::int64_t b, char const* small) {
  return std::to_string(a) + big + (b > 0 ? " " + std::to_string(b) + small : "");
}

}  // namespace

std::string html(std::string_view text, std::size_t bytes_max) {
  return escaped(text, bytes_max, false);
}

std::string lines(std::string_view text, std::size_t bytes_max) {
  auto printed = to_utf8(as_printed(text));
  while (!printed.empty() && printed.back() == '\n') printed.pop_back();
  if (printed.empty()) return {};
  std::size_t cut = 0;
  if (printed.size() > bytes_max) cut = utf8_boundary(printed, printed.size() - bytes_max);
  auto const before =
      cut > 0 ? "<i>" + with_thousands(cut) + " bytes before …</i>\n" : std::string();
  return "<pre>" + before + escaped(printed.substr(cut), printed.size(), true) + "</pre>\n";
}

std::string utc(std::int64_t ms, bool exact) {
  return exact && ms > 0 ? formatted(ms, "%Y-%m-%d ") + clock_of(ms) + " UTC"
                         : formatted(ms, "%Y-%m-%d %H:%M:%S UTC");
}

std::string clock_of(std::int64_t ms) {
  auto const text = formatted(ms, "%H:%M:%S.");
  return text.empty() ? text : text + std::to_string(1000 + ms % 1000).substr(1);
}

std::string lasted(double ms) {
  if (ms < 1000) return (ms < 10 ? with_one_decimal(ms) : std::to_string(std::lround(ms))) + " ms";
  auto const s = static_cast<std::int64_t>(ms / 1000);
  if (s < 60) return with_one_decimal(ms / 1000) + " s";
  if (s < 3600) return two(s / 60, " min", s % 60, " s");
  if (s < 86400) return two(s / 3600, " h", s / 60 % 60, " min");
  return two(s / 86400, " d", s / 3600 % 24, " h");
}

std::string in_bytes(double bytes) {
  std::size_t unit = 0;
  constexpr std::array units{" B", " KiB", " MiB", " GiB", " TiB"};
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return with_one_decimal(bytes) + units.at(unit);
}

}  // namespace muster::cli::postmortem
