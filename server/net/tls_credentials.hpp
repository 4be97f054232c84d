// TLS credentials of a gRPC server, and the name in a client certificate. Free functions; any
// thread.
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "server/net/tls_files.hpp"

namespace muster::net {

/// Returns credentials for TLS 1.2 and later. Each handshake uses the current contents of `files`.
/// If they include CA certificates for clients, clients are asked for a certificate. With
/// `required`, clients without one are rejected.
/// REQUIRES: `files` outlives the server.
std::shared_ptr<grpc::ServerCredentials> tls_server_credentials(tls_files const& files,
                                                                bool required);

/// Returns the common name of the client certificate, which was verified with --tls-client-ca.
/// Empty if the client sent none. REQUIRES: the call is alive.
std::string certificate_name(grpc::ServerContext const& context);

}  // namespace muster::net
