// OpenSSL's side of the HTTP port's TLS, made anew when the files change. Owned by the web server,
// web thread.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "server/net/tls_files.hpp"

namespace muster::web {

class tls_contexts {
 public:
  /// `files`: null, the port speaks plaintext. `required`: clients without a certificate are
  /// refused, if they are asked for one.
  tls_contexts(net::tls_files const* files, bool required) : files_(files), required_(required) {}

  [[nodiscard]] bool on() const { return files_ != nullptr; }
  /// For the next handshake. Null: the port speaks plaintext.
  std::shared_ptr<boost::asio::ssl::context> current();

 private:
  net::tls_files const* const files_;
  bool const required_;
  std::shared_ptr<net::tls_material const> made_of_;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace muster::web
