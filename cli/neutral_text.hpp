// Makes text of others harmless where people read it: a control character can drive a terminal, and
// a directional mark can show a text in another order than it has.
#pragma once

#include <streambuf>
#include <string>
#include <string_view>

namespace muster::cli {

/// Which control characters stay.
enum class text_layout { line, lines };  // none; newlines and tabs

/// Replaces characters that can drive or mislead a terminal. C0 controls become spaces. C1
/// controls, DEL, and directional marks, overrides and isolates become escapes such as \u202e.
/// Bytes that are not UTF-8 become U+FFFD. With `lines` it changes no JSON text, other than to an
/// equal one.
std::string neutral_text(std::string_view text, text_layout layout);

/// A stream buffer that writes neutral_text with `lines` to another one. One thread at a time.
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
  std::string begun_;  // the first bytes of a character, at most three
};

/// Writes a control sequence of our own to std::cout, past neutral_buffer.
void write_control(std::string_view sequence);

/// Has everything that std::cerr writes, and std::cout to a terminal, pass through neutral_buffer.
/// A pipe or a file gets the bytes of std::cout as they are. Called once, before any output.
void neutralize_output();

}  // namespace muster::cli
