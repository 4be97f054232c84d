// What the service answers when it does not do what it was asked, read from the status and the
// payloads that travel with it. Pure; any thread.
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
  bool answered = false;  // by the service; else something between here and there has failed
  std::optional<std::uint32_t> task;
  bool reported = false;
  std::optional<std::pair<std::string, std::int64_t>> barrier;  // id, use
  bool other_service = false;  // it is not the one that this agent registered at

  /// A broken connection, or a server that is not there (yet).
  bool passes() const;
  /// Throws the type that goes with it.
  [[noreturn]] void raise() const;
};

/// REQUIRES: not OK.
service_error read_error(grpc::Status const& s);

}  // namespace muster::detail
