// Parses "host:port", "[::1]:port", or a host without a port. Thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace muster {

struct host_port {
  std::string host;
  std::string port;  // empty if there is no port

  static host_port parse(std::string_view text) {
    if (text.starts_with('[')) {
      auto const end = text.find(']');
      if (end == text.npos) return {std::string(text), {}};
      auto const behind = text.substr(end + 1);
      if (!behind.empty() && !behind.starts_with(':')) return {std::string(text), {}};
      return {std::string(text.substr(1, end - 1)),
              std::string(behind.empty() ? behind : behind.substr(1))};
    }
    auto const colon = text.find(':');
    // Several colons without brackets mean an IPv6 address without a port.
    if (colon == text.npos || text.find(':', colon + 1) != text.npos)
      return {std::string(text), {}};
    return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
  }

  std::string text() const {
    auto const h = host.find(':') == std::string::npos ? host : "[" + host + "]";
    return port.empty() ? h : h + ":" + port;
  }
};

}  // namespace muster
