// Client side of TLS: trusted CAs, and reasons for a failed verification. Not thread-safe.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "base/http_client/http_error.hpp"

namespace muster {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};

bool is_ip_address(std::string const& host);

struct https_options {
  std::string ca_file = {};  // PEM; if empty, the system's CAs, which SSL_CERT_FILE overrides
  bool verify = true;
  // PEM files of the client certificate, or empty if there is no client certificate.
  std::string certificate_file = {}, key_file = {};
};

/// Fails with INVALID_ARGUMENT if a file is unreadable, or does not contain a certificate and its
/// key.
muster::result<std::unique_ptr<boost::asio::ssl::context>> make_client_context(
    https_options const&);

/// Requests `host` (SNI) and verifies that the certificate is valid for this DNS name or IP
/// address.
class certificate_check {
 public:
  certificate_check(SSL* connection, std::string const& host, https_options const& options);

  /// Stores the first fault and returns `accepted`.
  bool note(bool accepted, X509_STORE_CTX* context);

  /// Returns the first fault, such as "the server's certificate was rejected: certificate has
  /// expired …", or an empty string.
  std::string const& fault() const { return fault_; }
  http_failure failure() const { return failure_; }

 private:
  std::string host_;
  https_options options_;
  std::string fault_;
  http_failure failure_ = http_failure::none;
};

}  // namespace muster
