// TLS settings of a client. Plain data.
#pragma once

#include <string>

namespace muster {

/// PEM files. Each new connection reads them again, so they can be replaced while a client runs.
struct tls_options {
  /// CA certificates that verify the server. Empty: those of the system.
  std::string ca{};
  /// Client certificate and its private key, for a server that asks for them. Set both or neither.
  std::string certificate{}, key{};
  /// Use TLS even if none of the files above is set.
  bool use_tls = false;

  bool on() const { return use_tls || !ca.empty() || !certificate.empty() || !key.empty(); }
  /// Reads MUSTER_CA, MUSTER_CERT and MUSTER_KEY.
  static tls_options from_environment();
};

}  // namespace muster
