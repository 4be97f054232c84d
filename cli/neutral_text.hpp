// Makes untrusted text safe to display. A control character can drive a terminal, and a directional
// mark can change the order in which text is shown.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace muster::cli {

/// Control characters that are kept.
enum class text_layout { line, lines };  // line: none; lines: newlines and tabs

/// Replaces characters that can drive or mislead a terminal. C0 controls become spaces. C1
/// controls, DEL, and directional marks, overrides and isolates become escapes such as \u202e.
/// Bytes that are not UTF-8 become U+FFFD. With `lines`, JSON text keeps its meaning.
std::string neutral_text(std::string_view text, text_layout layout);

/// A stream buffer that applies neutral_text with `lines` and writes to another buffer. One thread
/// at a time.
class neutral_buffer : public std::streambuf {
 public:
  /// @param to must outlive this buffer.
  explicit neutral_buffer(std::streambuf& to) : to_(to) {}

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(char const* text, std::streamsize n) override;
  int sync() override { return to_.pubsync(); }

 private:
  std::streambuf& to_;
  std::string begun_;  // bytes of an incomplete character, at most three
};

/// Writes one of our own control sequences to std::cout, bypassing neutral_buffer.
void write_control(std::string_view sequence);

/// Passes the output of std::cerr, and of std::cout on a terminal, through neutral_buffer. A pipe
/// or a file gets the unchanged bytes of std::cout. Call once, before any output.
void neutralize_output();

}  // namespace muster::cli
