// Converts statuses to gRPC statuses, whose codes have the same numbers.
#pragma once

#include <grpcpp/support/status.h>

#include <string>
#include <utility>

#include "base/status.hpp"

namespace muster::server {

inline grpc::Status to_grpc(muster::status const& s) {
  return {static_cast<grpc::StatusCode>(s.code), s.message};
}

inline muster::status invalid(std::string what) {
  return {muster::code::invalid_argument, std::move(what)};
}

}  // namespace muster::server
