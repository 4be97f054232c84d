#include "base/status.hpp"

namespace muster {

std::string_view name(code c) {
  static constexpr std::string_view names[] = {
      "OK",
      "CANCELLED",
      "UNKNOWN",
      "INVALID_ARGUMENT",
      "DEADLINE_EXCEEDED",
      "NOT_FOUND",
      "ALREADY_EXISTS",
      "PERMISSION_DENIED",
      "RESOURCE_EXHAUSTED",
      "FAILED_PRECONDITION",
      "ABORTED",
      "OUT_OF_RANGE",
      "UNIMPLEMENTED",
      "INTERNAL",
      "UNAVAILABLE",
      "UNKNOWN",  // gRPC's DATA_LOSS, which the server never sends
      "UNAUTHENTICATED",
  };
  auto const n = static_cast<std::size_t>(c);
  return n < std::size(names) ? names[n] : "UNKNOWN";
}

}  // namespace muster
