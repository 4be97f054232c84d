// A private key with a self-signed certificate. The peer verifies it with a copy received over a
// trusted connection. Any thread.
#pragma once

#include <string>

#include "base/status.hpp"

namespace muster::net {

struct own_certificate {
  std::string certificate, key;  // PEM
};

/// Returns a new certificate for the name "muster", valid for a year. Errors: INTERNAL if OpenSSL
/// fails.
muster::result<own_certificate> make_own_certificate();

}  // namespace muster::net
