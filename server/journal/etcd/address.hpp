// Address of a store in etcd, as written on the command line. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace muster::server::journal::etcd {

struct address {
  std::vector<std::string> hosts;  ///< each is "host:port"; 1 to 16
  std::string prefix;              ///< for example "/muster"; all keys start with it and a '/'
  std::string user;
  bool tls = false;

  std::string text() const;
  bool operator==(address const&) const = default;
};

/// Parses etcd://[USER@]HOST:PORT[,HOST:PORT…]/PREFIX, or etcds:// for TLS.
/// @return INVALID_ARGUMENT if the text is malformed. The message is a single line with the
/// expected format, and never contains a password.
muster::result<address> parse_address(std::string_view text);

}  // namespace muster::server::journal::etcd
