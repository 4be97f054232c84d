// Converts coordination errors to gRPC statuses: code, message, and details with the payloads that
// agents read. Any thread.
#pragma once

#include <grpcpp/support/status.h>

#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::server {

/// The wire dialects: xla.coordination (jaxlib 0.10.0 and later) and tensorflow.
enum class dialect : std::uint8_t { xla, tensorflow };

/// In TensorFlow's dialect, `spec` provides the failed task's name; null if the cluster was
/// removed. A message that does not fit next to the payloads is truncated.
grpc::Status to_grpc(core::coordination::fault const& f, dialect d,
                     core::coordination::cluster_spec const* spec);

/// Returns an error of the rpc layer that clients treat as an answer of the service.
grpc::Status coordination_error(muster::status const& why, dialect d);

}  // namespace muster::server
