// How a client speaks TLS with its server. Plain data.
#pragma once

#include <string>

namespace muster {

/// PEM files, read again for each connection, so that they may be replaced.
struct tls_options {
  /// Who vouches for the server. Empty: the system's authorities.
  std::string ca{};
  /// What the server is shown when it asks who calls. Both or none.
  std::string certificate{}, key{};
  /// TLS also when none of the above is set.
  bool use_tls = false;

  bool on() const { return use_tls || !ca.empty() || !certificate.empty() || !key.empty(); }
  /// MUSTER_CA, MUSTER_CERT and MUSTER_KEY.
  static tls_options from_environment();
};

}  // namespace muster
