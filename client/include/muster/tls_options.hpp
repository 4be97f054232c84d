// TLS settings of a client.
#pragma once

#include <string>

namespace muster {

/// TLS settings of a client. The PEM files are read again for each connection, so they can be
/// replaced while the client runs.
struct tls_options {
  /// File with CA certificates that verify the server; empty: those of the system.
  std::string ca{};
  /// File with the client certificate, if the server requires it; set together with `key`.
  std::string certificate{}, key{};  ///< file with the private key of the certificate
  /// Use TLS even if no file is set.
  bool use_tls = false;

  /// Returns true if TLS is used.
  bool on() const { return use_tls || !ca.empty() || !certificate.empty() || !key.empty(); }
  /// Returns settings from the environment variables MUSTER_CA, MUSTER_CERT and MUSTER_KEY.
  static tls_options from_environment();
};

}  // namespace muster
