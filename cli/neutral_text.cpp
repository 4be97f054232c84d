#include "cli/neutral_text.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iostream>

#include "base/utf8.hpp"

namespace muster::cli {
namespace {

// The buffer to which the neutral_buffer of std::cout writes; can be null.
std::streambuf* terminal = nullptr;

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

// Returns the length of a character with this first byte, or 1 if the byte is invalid.
std::size_t length_of(char first) {
  auto const c = static_cast<unsigned char>(first);
  return c >= 0xF0 && c < 0xF8 ? 4 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xC0 && c < 0xE0 ? 2 : 1;
}

std::uint32_t decoded(std::string_view bytes) {
  static constexpr std::array<unsigned, 5> masks = {0, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t code = static_cast<unsigned char>(bytes.front()) & masks[bytes.size()];
  for (char const c : bytes.substr(1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

bool is_hostile(std::uint32_t code) {
  return (code >= 0x7F && code <= 0x9F) || code == 0x061C || code == 0x200E || code == 0x200F ||
         (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

void append_escape(std::string& to, std::uint32_t code) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "\\u%04x", code);
  to += text.data();
}

std::size_t begun_at_end(std::string_view text) {
  for (std::size_t n = 1; n <= 3 && n <= text.size(); ++n) {
    char const c = text[text.size() - n];
    if (is_continuation(c)) continue;
    return length_of(c) > n ? n : 0;
  }
  return 0;
}

}  // namespace

std::string neutral_text(std::string_view text, text_layout layout) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    char const first = text.front();
    auto const length = std::min(length_of(first), text.size());
    auto const one = text.substr(0, length);
    if (length == 1 && static_cast<unsigned char>(first) < 0x20) {
      bool const stays = layout == text_layout::lines && (first == '\n' || first == '\t');
      out += stays ? first : ' ';
    } else if (!is_utf8(one)) {
      out += "\xEF\xBF\xBD";
      text.remove_prefix(1);
      continue;
    } else if (auto const code = decoded(one); is_hostile(code)) {
      append_escape(out, code);
    } else {
      out += one;
    }
    text.remove_prefix(length);
  }
  return out;
}

neutral_buffer::int_type neutral_buffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  char const one = traits_type::to_char_type(c);
  return xsputn(&one, 1) == 1 ? c : traits_type::eof();
}

std::streamsize neutral_buffer::xsputn(char const* text, std::streamsize n) {
  begun_.append(text, static_cast<std::size_t>(n));
  auto const whole = begun_.size() - begun_at_end(begun_);
  auto const out = neutral_text(std::string_view(begun_).substr(0, whole), text_layout::lines);
  begun_.erase(0, whole);
  auto const size = static_cast<std::streamsize>(out.size());
  return to_.sputn(out.data(), size) == size ? n : 0;
}

void write_control(std::string_view sequence) {
  std::cout.flush();
  auto& to = terminal != nullptr ? *terminal : *std::cout.rdbuf();
  to.sputn(sequence.data(), static_cast<std::streamsize>(sequence.size()));
}

void neutralize_output() {
  // The buffers are never destroyed, because streams are used until the process exits.
  static auto* const errors = new neutral_buffer(*std::cerr.rdbuf());
  std::cerr.rdbuf(errors);
  if (::isatty(STDOUT_FILENO) != 1) return;
  terminal = std::cout.rdbuf();
  static auto* const output = new neutral_buffer(*terminal);
  std::cout.rdbuf(output);
}

}  // namespace muster::cli
