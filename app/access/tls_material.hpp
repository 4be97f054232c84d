// What --tls-cert and its kin come to: the files of the server's certificate, watched. Owned by the
// composition root, above both servers; any thread.
#pragma once

#include <optional>

#include "net/accepting_server.hpp"
#include "net/tls_files.hpp"
#include "app/configuration.hpp"

namespace muster::server {

class tls_material {
 public:
  /// Reads the files. Errors: start_error names the flag and the file.
  explicit tls_material(tls_settings const& s);

  /// Null: plaintext is spoken.
  [[nodiscard]] net::tls_files const* files() const { return files_ ? &*files_ : nullptr; }

 private:
  std::optional<net::tls_files> files_;
};

/// Adds the port of --grpc, with TLS or without.
void listen_for_grpc(net::accepting_server& server, configuration const& c,
                     tls_material const& tls);

}  // namespace muster::server
