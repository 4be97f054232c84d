#include "server/rpc/failure_convert.hpp"

#include "base/utf8.hpp"

namespace muster::server {

static_assert(static_cast<int>(core::failure_kind::user) == v1::USER);
static_assert(static_cast<int>(core::failure_kind::worker_lost) == v1::WORKER_LOST);
static_assert(static_cast<int>(core::failure_kind::stale_handle) == v1::STALE_HANDLE);
static_assert(static_cast<int>(core::failure_kind::dependency_lost) == v1::DEPENDENCY_LOST);
static_assert(static_cast<int>(core::failure_kind::timeout) == v1::TIMEOUT);
static_assert(static_cast<int>(core::failure_kind::cancelled) == v1::CANCELLED);
static_assert(static_cast<int>(core::failure_kind::input) == v1::INPUT);

static_assert(static_cast<int>(core::failure_reason::unspecified) == v1::REASON_UNSAID);
static_assert(static_cast<int>(core::failure_reason::no_room_for_call) == v1::NO_ROOM_FOR_CALL);
static_assert(static_cast<int>(core::failure_reason::no_room_for_value) == v1::NO_ROOM_FOR_VALUE);
static_assert(static_cast<int>(core::failure_reason::server_restarted) == v1::SERVER_RESTARTED);
static_assert(static_cast<int>(core::failure_reason::object_gone) == v1::OBJECT_GONE);
static_assert(static_cast<int>(core::failure_reason::ticket_refused) == v1::TICKET_REFUSED);
static_assert(static_cast<int>(core::failure_reason::call_circle) == v1::CALL_CIRCLE);
static_assert(static_cast<int>(core::failure_reason::call_forgotten) == v1::CALL_FORGOTTEN);

void to_wire(core::failure const& from, v1::Failure& to) {
  to.set_kind(static_cast<v1::FailureKind>(from.kind));
  to.set_type(from.type);
  to.set_message(from.message);
  to.set_traceback(from.traceback);
  to.set_worker(from.worker);
  to.set_attempt(from.attempt);
  for (auto const& d : from.dependencies) to.add_dependency(d);
  to.set_exception(from.exception);
  to.set_reason(static_cast<v1::FailureReason>(from.reason));
}

std::string from_wire(v1::Failure const& from, core::failure& to) {
  if (!v1::FailureKind_IsValid(from.kind()))
    return "unknown kind " + std::to_string(static_cast<int>(from.kind()));
  if (from.kind() == v1::WORKER_LOST) return "kind WORKER_LOST can be set only by the server";
  to.kind = static_cast<core::failure_kind>(from.kind());
  to.type = shortened(from.type(), failure_type_bytes_max);
  to.message = shortened(from.message(), failure_message_bytes_max);
  to.traceback = shortened(from.traceback(), failure_traceback_bytes_max);
  // Adds one dependency more than the core accepts, so that the core can report the excess.
  for (auto const& d : from.dependency()) {
    if (to.dependencies.size() > failure_dependencies_max) break;
    to.dependencies.push_back(shortened(d, failure_dependency_bytes_max));
  }
  if (from.exception().size() <= failure_exception_bytes_max) to.exception = from.exception();
  return {};
}

}  // namespace muster::server
