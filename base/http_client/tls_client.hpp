// The client's side of TLS: whom to trust, and why a server was not trusted. Used by one thread.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <string>

#include "base/http_client/http_error.hpp"

namespace muster {

/// The deleter of a std::unique_ptr for what OpenSSL made.
template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};

bool is_ip_address(std::string const& host);

struct https_options {
  std::string ca_file = {};  // PEM; empty: the system's authorities (SSL_CERT_FILE moves them)
  bool verify = true;        // false: any certificate will do
  // Shown to a server that asks, PEM; empty: nothing is.
  std::string certificate_file = {}, key_file = {};
};

/// TLS 1.2 and later. INVALID_ARGUMENT: a file cannot be read or holds no certificate, or no key of
/// it.
muster::result<std::unique_ptr<boost::asio::ssl::context>> make_client_context(
    https_options const&);

/// Asks the server for `host` (SNI) and expects a certificate that names it: a DNS name, or an
/// address when `host` is one. Remembers what was wrong with the certificate.
class certificate_check {
 public:
  certificate_check(SSL* connection, std::string const& host, https_options const& options);

  /// For asio's verify callback: notes the first fault, changes nothing.
  bool note(bool accepted, X509_STORE_CTX* context);

  /// Empty: nothing was. "the certificate of CN=a is not accepted: certificate has expired …"
  std::string const& fault() const { return fault_; }
  /// The same for code; none: nothing was.
  http_failure failure() const { return failure_; }

 private:
  std::string host_;
  https_options options_;
  std::string fault_;
  http_failure failure_ = http_failure::none;
};

}  // namespace muster
