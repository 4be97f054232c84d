// HTTP/2 frames and HPACK fields, encoded by hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster::test {

inline std::string const connection_preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum frame_type : unsigned char {
  data_frame = 0,
  headers_frame = 1,
  reset_frame = 3,
  settings_frame = 4,
  continuation_frame = 9
};
enum frame_flag : unsigned char {
  no_flags = 0,
  end_stream = 1,
  end_headers = 4,
  padded = 8,
  with_priority = 32
};

inline std::string number(std::uint32_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8)
    text += static_cast<char>(value >> shift & 0xff);
  return text;
}

inline std::string frame(unsigned char type, int flags, std::uint32_t stream,
                         std::string const& payload = {}) {
  return number(static_cast<std::uint32_t>(payload.size()), 3) + static_cast<char>(type) +
         static_cast<char>(flags) + number(stream, 4) + payload;
}

/// Encodes an integer with a prefix of `prefix` bits.
inline std::string hpack_number(std::size_t value, int prefix, unsigned char pattern) {
  std::size_t const mask = (1U << prefix) - 1;
  if (value < mask) return {static_cast<char>(pattern | value)};
  std::string text{static_cast<char>(pattern | mask)};
  for (value -= mask; value >= 128; value /= 128) text += static_cast<char>(value % 128 | 128);
  return text + static_cast<char>(value);
}

inline std::string hpack_text(std::string const& text) {
  return hpack_number(text.size(), 7, 0) + text;
}

/// Encodes a literal field. `pattern` 0x00 does not change the dynamic table, 0x40 inserts the
/// field.
inline std::string field(std::string const& name, std::string const& value,
                         unsigned char pattern = 0) {
  return std::string(1, static_cast<char>(pattern)) + hpack_text(name) + hpack_text(value);
}

/// A server applies its own limits, such as windows above 64 KiB, only after its client has sent
/// this frame.
inline std::string const settings_ack = frame(settings_frame, 1, 0);

inline std::string grpc_message(std::string const& body, bool compressed = false) {
  return std::string(1, compressed ? '\1' : '\0') +
         number(static_cast<std::uint32_t>(body.size()), 4) + body;
}

/// Splits bytes into frames; only the last frame has the flags.
inline std::string in_frames(std::uint32_t stream, std::string const& bytes, int last_flags) {
  std::string all;
  for (std::size_t at = 0; at < bytes.size(); at += 16'000)
    all += frame(data_frame, at + 16'000 < bytes.size() ? 0 : last_flags, stream,
                 bytes.substr(at, 16'000));
  return all;
}

inline std::string call_fields(std::string const& method, std::string const& more = {}) {
  return "\x83\x86\x04" + hpack_text(method) + "\x01" + hpack_text("localhost") + "\x0f\x10" +
         hpack_text("application/grpc") + field("te", "trailers") + more;
}

}  // namespace muster::test
