// Recognizes the start of a TLS handshake and a complete ClientHello. Pure functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "server/net/waiting_connections.hpp"

namespace muster::net {

// If a ClientHello is longer than this, or continues in another record, the connection is passed on
// after this many bytes.
constexpr std::size_t hello_bytes_max = 8'192;

/// Returns whether the data begins like a TLS handshake record (RFC 8446, section 5.1). REQUIRES:
/// `said` is not empty.
inline bool begins_tls(std::string_view said) {
  constexpr unsigned char handshake = 22, major = 3;
  auto const byte = [said](std::size_t at) { return static_cast<unsigned char>(said[at]); };
  return byte(0) == handshake && (said.size() < 2 || byte(1) == major);
}

/// Returns the number of bytes needed for a complete ClientHello; see waiting_connections::judge.
inline std::size_t hello_bytes_needed(std::string_view said) {
  constexpr std::size_t record_head_bytes = 5;
  constexpr unsigned char client_hello = 1;
  auto const byte = [said](std::size_t at) { return static_cast<unsigned char>(said[at]); };
  if (!begins_tls(said)) return waiting_connections::refused;
  if (said.size() <= record_head_bytes) return record_head_bytes + 1;
  if (byte(record_head_bytes) != client_hello) return waiting_connections::refused;
  std::size_t const length = byte(3) * 256U + byte(4);
  auto const whole = std::min(record_head_bytes + length, hello_bytes_max);
  return said.size() >= whole ? 0 : whole;
}

}  // namespace muster::net
