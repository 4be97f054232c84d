// The names of codes.
#include "base/status.hpp"

namespace muster {

std::string_view name(code c) {
  switch (c) {
    case code::ok:
      return "OK";
    case code::cancelled:
      return "CANCELLED";
    case code::unknown:
      return "UNKNOWN";
    case code::invalid_argument:
      return "INVALID_ARGUMENT";
    case code::deadline_exceeded:
      return "DEADLINE_EXCEEDED";
    case code::not_found:
      return "NOT_FOUND";
    case code::already_exists:
      return "ALREADY_EXISTS";
    case code::permission_denied:
      return "PERMISSION_DENIED";
    case code::resource_exhausted:
      return "RESOURCE_EXHAUSTED";
    case code::failed_precondition:
      return "FAILED_PRECONDITION";
    case code::aborted:
      return "ABORTED";
    case code::out_of_range:
      return "OUT_OF_RANGE";
    case code::unimplemented:
      return "UNIMPLEMENTED";
    case code::internal:
      return "INTERNAL";
    case code::unavailable:
      return "UNAVAILABLE";
    case code::unauthenticated:
      return "UNAUTHENTICATED";
  }
  return "UNKNOWN";
}

}  // namespace muster
