// Converts coordination errors to gRPC statuses with code, message, and details that agents read.
// Thread-safe.
#pragma once

#include <grpcpp/support/status.h>

#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::server {

/// The two wire protocols: xla.coordination (jaxlib 0.10.0 and later) and tensorflow.
enum class dialect : std::uint8_t { xla, tensorflow };

/// Converts `f`. In TensorFlow's protocol, `spec` provides the failed task's name; `spec` is null
/// if the cluster was removed. The message is truncated if it does not fit together with the
/// payloads.
grpc::Status to_grpc(core::coordination::fault const& f, dialect d,
                     core::coordination::cluster_spec const* spec);

/// Returns an error of the rpc layer that clients treat as an answer of the service.
grpc::Status coordination_error(muster::status const& why, dialect d);

}  // namespace muster::server
