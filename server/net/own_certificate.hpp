// A key and a certificate that vouches for itself, for who is given it by somebody that both ends
// trust already. Any thread.
#pragma once

#include <string>

#include "base/status.hpp"

namespace muster::net {

struct own_certificate {
  std::string certificate, key;  // PEM
};

/// Of the name "muster", for a year. INTERNAL: the library refused.
muster::result<own_certificate> make_own_certificate();

}  // namespace muster::net
