// OpenSSL contexts for the HTTP port, recreated when the files change. Owned by the web server;
// used on the web thread.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "server/net/tls_files.hpp"

namespace muster::web {

class tls_contexts {
 public:
  /// `files` is null if the port uses plaintext. `required` rejects clients without a certificate
  /// if certificates are requested.
  tls_contexts(net::tls_files const* files, bool required) : files_(files), required_(required) {}

  [[nodiscard]] bool on() const { return files_ != nullptr; }
  std::shared_ptr<boost::asio::ssl::context> current();

 private:
  net::tls_files const* const files_;
  bool const required_;
  std::shared_ptr<net::tls_material const> made_of_;
  std::shared_ptr<boost::asio::ssl::context> context_;
};

}  // namespace muster::web
