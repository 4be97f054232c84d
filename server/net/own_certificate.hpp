// A private key with a self-signed certificate. Peers verify the certificate with a copy that they
// received over a trusted connection. Thread-safe.
#pragma once

#include <string>

#include "base/status.hpp"

namespace muster::net {

struct own_certificate {
  std::string certificate, key;  // PEM
};

/// Creates a certificate for the name "muster", valid for a year. Returns INTERNAL if OpenSSL
/// fails.
muster::result<own_certificate> make_own_certificate();

}  // namespace muster::net
