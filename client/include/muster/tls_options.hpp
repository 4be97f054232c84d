// TLS settings of a client.
#pragma once

#include <string>

namespace muster {

/// TLS settings of a client. The PEM files are read again for each connection, so they can be
/// replaced while the client is running.
struct tls_options {
  /// File with the CA certificates that verify the server; if empty, the system's certificates.
  std::string ca{};
  /// File with the client certificate, if the server requires a certificate; set together with
  /// `key`.
  std::string certificate{}, key{};  ///< file with the certificate's private key
  /// Use TLS even if no file is set.
  bool use_tls = false;

  /// Returns true if TLS is used.
  bool on() const { return use_tls || !ca.empty() || !certificate.empty() || !key.empty(); }
  /// Returns settings from the environment variables MUSTER_CA, MUSTER_CERT and MUSTER_KEY.
  static tls_options from_environment();
};

}  // namespace muster
