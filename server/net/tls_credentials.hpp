// TLS credentials of a gRPC server, and the name in a caller's certificate. Free functions; any
// thread.
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "server/net/tls_files.hpp"

namespace muster::net {

/// Returns credentials for TLS 1.2 and later. Each handshake uses the current contents of `files`.
/// If `files` has CA certificates for clients, the server asks clients for a certificate, and with
/// `required` rejects clients without one.
/// REQUIRES: `files` outlives the server.
std::shared_ptr<grpc::ServerCredentials> tls_server_credentials(tls_files const& files,
                                                                bool required);

/// Returns the common name of the caller's certificate, which a CA certificate of --tls-client-ca
/// verified. Empty: the caller sent no certificate. Any thread, while the call is alive.
std::string certificate_name(grpc::ServerContext const& context);

}  // namespace muster::net
