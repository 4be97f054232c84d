// Errors of the coordination service as gRPC statuses: the code, the text, and in the details the
// payloads that agents read. Free functions; any thread.
#pragma once

#include <grpcpp/support/status.h>

#include "server/core/coordination/api/declared_cluster.hpp"

namespace muster::server {

/// The two wire dialects: xla.coordination (jaxlib 0.10.0 and later) and tensorflow.
enum class dialect : std::uint8_t { xla, tensorflow };

/// `spec` names the task at fault in TensorFlow's dialect; null when its cluster is gone. A text
/// that does not fit beside the payloads is cut.
grpc::Status to_grpc(core::coordination::fault const& f, dialect d,
                     core::coordination::cluster_spec const* spec);

/// A coordination error of the rpc layer itself: clients take it for an answer of the service.
grpc::Status coordination_error(muster::status const& why, dialect d);

}  // namespace muster::server
