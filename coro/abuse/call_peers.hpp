// Whose the calls are that are alive: gRPC 1.51 does not know the peer of a call any more once its
// client has reset it. A table for each engine thread, since calls live and end on theirs; as many
// entries as there are calls.
#pragma once

#include <grpcpp/server_context.h>

#include <string>

namespace muster::coro {

/// The call has arrived.
void note_peer(grpc::ServerContext const& context);
/// In gRPC's words; of a call that was not noted what gRPC says.
std::string noted_peer(grpc::ServerContext const& context);
/// The call is gone. Harmless when it was not noted.
void forget_peer(grpc::ServerContext const& context);

}  // namespace muster::coro
