// Where a store in etcd is, as the command line says it. Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace muster::server::journal::etcd {

struct address {
  std::vector<std::string> hosts;  ///< "host:port" each, one at least, 16 at most
  std::string prefix;              ///< "/muster": all keys begin so, with a '/' behind it
  std::string user;                ///< empty: none
  bool tls = false;

  /// As it was written. Holds no password: there is no place for one.
  std::string text() const;
  bool operator==(address const&) const = default;
};

/// etcd://[USER@]HOST:PORT[,HOST:PORT…]/PREFIX, or etcds:// with TLS. INVALID_ARGUMENT, in one line
/// that says what to write instead, and repeats no password.
muster::result<address> parse_address(std::string_view text);

}  // namespace muster::server::journal::etcd
