// TLS credentials of a gRPC server, and the name in a client certificate. Thread-safe.
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "server/net/tls_files.hpp"

namespace muster::net {

/// Returns credentials for TLS 1.2 and later. Each handshake uses the current contents of `files`.
/// If `files` contains CA certificates, clients are asked for a certificate. With `required`,
/// clients without a certificate are rejected. REQUIRES: `files` outlives the server.
std::shared_ptr<grpc::ServerCredentials> tls_server_credentials(tls_files const& files,
                                                                bool required);

/// Returns the common name in the client certificate, verified with --tls-client-ca, or an empty
/// string without a certificate. REQUIRES: the call exists.
std::string certificate_name(grpc::ServerContext const& context);

}  // namespace muster::net
