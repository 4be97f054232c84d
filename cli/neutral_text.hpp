// Makes untrusted text safe to display. Control characters can control a terminal, and directional
// marks can reorder text.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace muster::cli {

enum class text_layout { line, lines };  // `lines` keeps newlines and tabs

/// C0 controls become spaces. C1 controls, DEL, and directional marks, overrides and isolates
/// become escapes such as \u202e. Bytes that are not UTF-8 become U+FFFD. With `lines`, JSON text
/// keeps its meaning.
std::string neutral_text(std::string_view text, text_layout layout);

/// Applies neutral_text() with `lines` and writes to another buffer. Not thread-safe.
class neutral_buffer : public std::streambuf {
 public:
  /// @param to must outlive this buffer
  explicit neutral_buffer(std::streambuf& to) : to_(to) {}

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(char const* text, std::streamsize n) override;
  int sync() override { return to_.pubsync(); }

 private:
  std::streambuf& to_;
  std::string begun_;  // bytes of an incomplete character, at most three
};

/// Writes one of Muster's own control sequences to std::cout, bypassing neutral_buffer.
void write_control(std::string_view sequence);

/// Passes std::cerr, and std::cout on a terminal, through neutral_buffer. Output to a pipe or a
/// file is unchanged. Call this function once, before any output.
void neutralize_output();

}  // namespace muster::cli
