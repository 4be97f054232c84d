// "host:port", "[::1]:port", or a host alone; and free ports of this machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::launch {

struct address {
  std::string host;  // an IPv6 address without its brackets
  std::string port;  // empty: none

  static address parse(std::string_view text);
  std::string text() const;
};

/// So many ports of 127.0.0.1 that nobody listens on, all different. Nothing keeps others from
/// taking them before they are used; that is what a restart is for. Errors: std::system_error.
std::vector<int> free_ports(std::size_t count);

}  // namespace muster::launch
