// Address of a store in etcd, as given on the command line. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace muster::server::journal::etcd {

struct address {
  std::vector<std::string> hosts;  ///< "host:port" each; 1 to 16
  std::string prefix;              ///< for example "/muster"; all keys begin with it and a '/'
  std::string user;                ///< empty: no user
  bool tls = false;

  /// Returns the address as it was written. It never contains a password.
  std::string text() const;
  bool operator==(address const&) const = default;
};

/// Parses etcd://[USER@]HOST:PORT[,HOST:PORT…]/PREFIX, or etcds:// with TLS.
/// @return INVALID_ARGUMENT, in one line with the expected format. The message never contains a
/// password.
muster::result<address> parse_address(std::string_view text);

}  // namespace muster::server::journal::etcd
