// Errors of the coordination service as gRPC statuses: the code, the text, and in the details the
// payloads that agents read. Free functions; any thread.
#pragma once

#include <grpcpp/support/status.h>

#include "server/core/coordination/api/cluster_spec.hpp"

namespace muster::server {

/// The two wire dialects: xla.coordination (jaxlib 0.10.0 and later) and tensorflow.
enum class dialect : std::uint8_t { xla, tensorflow };

/// What fits into the 8 KB that a client takes for all trailers, their names and gRPC's own
/// included, counted as they travel: text percent-encoded, details in base64.
inline constexpr std::size_t trailer_bytes_max = 7'000;

/// `spec` names the task at fault in TensorFlow's dialect; null when its cluster is gone. A text
/// that does not fit beside the payloads is cut.
grpc::Status to_grpc(core::coordination::fault const& f, dialect d,
                     core::coordination::cluster_spec const* spec);

/// A coordination error of the rpc layer itself: clients take it for an answer of the service.
grpc::Status coordination_error(grpc::StatusCode code, std::string message, dialect d);

}  // namespace muster::server
