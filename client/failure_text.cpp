#include "client/failure_text.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <typeinfo>

#include "base/utf8.hpp"
#include "muster/function_error.hpp"

namespace muster {
namespace {

constexpr std::size_t text_bytes_max = 64 << 10;

std::string demangled(std::type_info const& type) {
  int status = 0;
  std::unique_ptr<char, decltype(&std::free)> const text(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return text ? text.get() : type.name();
}

std::string wire_text(std::string const& text) {
  return to_utf8(std::string_view(text).substr(0, text_bytes_max));
}

}  // namespace

std::string_view name(failure_kind kind) {
  switch (kind) {
    case failure_kind::user:
      return "USER";
    case failure_kind::worker_lost:
      return "WORKER_LOST";
    case failure_kind::stale_handle:
      return "STALE_HANDLE";
    case failure_kind::dependency_lost:
      return "DEPENDENCY_LOST";
    case failure_kind::timeout:
      return "TIMEOUT";
    case failure_kind::cancelled:
      return "CANCELLED";
    case failure_kind::input:
      return "INPUT";
  }
  return "USER";
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

failure failure_of_current_exception() {
  failure f;
  try {
    throw;
  } catch (function_error const& e) {
    f.kind = e.kind();
    f.type = e.type();
    f.message = e.what();
    f.traceback = e.traceback();
    if (auto const* lost = dynamic_cast<dependency_lost const*>(&e))
      f.dependencies = lost->dependencies();
  } catch (std::exception const& e) {
    f.type = demangled(typeid(e));
    f.message = e.what();
  } catch (...) {
    auto const* type = abi::__cxa_current_exception_type();
    f.type = type ? demangled(*type) : "unknown";
    f.message = "threw something that is not a std::exception";
  }
  if (f.kind == failure_kind::worker_lost) f.kind = failure_kind::user;  // the server's to say
  return f;
}

}  // namespace muster
