// The enum values and names match the wire format.
#include "client/wire.hpp"

#include "base/utf8.hpp"

namespace muster {
namespace {

constexpr std::size_t text_bytes_max = 64 << 10;

std::string wire_text(std::string const& text) {
  return to_utf8(std::string_view(text).substr(0, text_bytes_max));
}

}  // namespace

std::string_view name(failure_kind kind) {
  return v1::FailureKind_Name(static_cast<v1::FailureKind>(kind));
}

static_assert(static_cast<int>(failure_kind::user) == v1::USER);
static_assert(static_cast<int>(failure_kind::worker_lost) == v1::WORKER_LOST);
static_assert(static_cast<int>(failure_kind::stale_handle) == v1::STALE_HANDLE);
static_assert(static_cast<int>(failure_kind::dependency_lost) == v1::DEPENDENCY_LOST);
static_assert(static_cast<int>(failure_kind::timeout) == v1::TIMEOUT);
static_assert(static_cast<int>(failure_kind::cancelled) == v1::CANCELLED);
static_assert(static_cast<int>(failure_kind::input) == v1::INPUT);

void to_wire(failure const& from, v1::Failure& to) {
  to.set_kind(static_cast<v1::FailureKind>(from.kind));
  to.set_type(wire_text(from.type));
  to.set_message(wire_text(from.message));
  to.set_traceback(wire_text(from.traceback));
  for (auto const& d : from.dependencies) to.add_dependency(wire_text(d));
}

failure from_wire(v1::Failure const& from) {
  failure f;
  if (v1::FailureKind_IsValid(from.kind())) f.kind = static_cast<failure_kind>(from.kind());
  f.type = from.type();
  f.message = from.message();
  f.traceback = from.traceback();
  f.worker = from.worker();
  f.attempt = from.attempt();
  f.dependencies.assign(from.dependency().begin(), from.dependency().end());
  return f;
}

}  // namespace muster
