// An error of the coordination service, read from a call's status and its payloads.
#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "muster/coordination_error.hpp"

namespace muster::detail {

struct service_error {
  coordination_code code = coordination_code::unknown;
  std::string message;
  bool answered = false;  // false if the connection failed
  std::optional<std::uint32_t> task;
  bool reported = false;
  std::optional<std::pair<std::string, std::int64_t>> barrier;  // barrier ID and use
  bool other_service = false;  // whether the agent had registered with another service incarnation

  /// Returns true if a retry can succeed: the connection broke, or the server is unavailable.
  bool passes() const;
  [[noreturn]] void raise() const;
};

/// Precondition: the status is an error.
service_error read_error(grpc::Status const& s);

}  // namespace muster::detail
