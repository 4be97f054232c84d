// Address of a store in etcd, as written on the command line. Pure and thread-safe functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace muster::server::journal::etcd {

struct address {
  std::vector<std::string> hosts;  ///< 1 to 16 addresses of the form "host:port"
  std::string prefix;              ///< for example "/muster"; in keys, a '/' follows
  std::string user;
  bool tls = false;

  std::string text() const;
  bool operator==(address const&) const = default;
};

/// Parses etcd://[USER@]HOST:PORT[,HOST:PORT…]/PREFIX, or etcds:// for TLS.
/// @return INVALID_ARGUMENT if the text is malformed. The message is a single line, contains the
///   expected format, and never contains a password.
muster::result<address> parse_address(std::string_view text);

}  // namespace muster::server::journal::etcd
