// A private key with a self-signed certificate. A peer verifies the certificate with a copy that it
// received over a connection that is already trusted. Any thread.
#pragma once

#include <string>

#include "base/status.hpp"

namespace muster::net {

struct own_certificate {
  std::string certificate, key;  // PEM
};

/// Returns a new certificate for the name "muster", valid for a year. INTERNAL: OpenSSL failed.
muster::result<own_certificate> make_own_certificate();

}  // namespace muster::net
