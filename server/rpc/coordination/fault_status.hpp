// Errors of the coordination service as gRPC statuses: code, message, and details with the payloads
// that agents read. Free functions; any thread.
#pragma once

#include <grpcpp/support/status.h>

#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::server {

/// The two wire dialects: xla.coordination (jaxlib 0.10.0 and later) and tensorflow.
enum class dialect : std::uint8_t { xla, tensorflow };

/// Converts a fault. `spec` is used to name the failed task in TensorFlow's dialect; null if the
/// cluster was removed. A message that does not fit next to the payloads is cut.
grpc::Status to_grpc(core::coordination::fault const& f, dialect d,
                     core::coordination::cluster_spec const* spec);

/// Returns an error of the rpc layer that clients treat as an answer of the service.
grpc::Status coordination_error(muster::status const& why, dialect d);

}  // namespace muster::server
