// TLS for gRPC's side of accepted connections, and who a caller's certificate says that it is.
// Free functions; any thread.
#pragma once

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_context.h>

#include <memory>
#include <string>

#include "server/net/tls_files.hpp"

namespace muster::net {

/// TLS 1.2 and later with whatever `files` has at the time of the handshake. Clients are asked for
/// a certificate where there is an authority for it; `required`: those without are refused.
/// REQUIRES: `files` outlives the server.
std::shared_ptr<grpc::ServerCredentials> tls_server_credentials(tls_files const& files,
                                                                bool required);

/// The common name in the certificate that the caller showed and an authority of --tls-client-ca
/// vouches for; empty: there is none. Any thread, while the call is alive.
std::string certificate_name(grpc::ServerContext const& context);

}  // namespace muster::net
