// The core's status codes are gRPC's own numbers.
#pragma once

#include <grpcpp/support/status.h>

#include "base/status.hpp"

namespace muster::server {

inline grpc::Status to_grpc(muster::status const& s) {
  return {static_cast<grpc::StatusCode>(s.code), s.message};
}

}  // namespace muster::server
