// Where a server listens, as the system's resolver takes it.
#pragma once

#include <string>

namespace muster::relay {

struct address {
  std::string host;  // a name or an IP address without brackets
  std::string port;
  std::string text() const {
    return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
  }
};

}  // namespace muster::relay
