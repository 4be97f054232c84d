// What comes out of a call: its value, or what its exception says.
#include "client/worker/function_call.hpp"

#include <cxxabi.h>

#include <boost/core/demangle.hpp>
#include <typeinfo>

#include "muster/function_error.hpp"

namespace muster {

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
    f.type = boost::core::demangle(typeid(e).name());
    f.message = e.what();
  } catch (...) {
    auto const* type = abi::__cxa_current_exception_type();
    f.type = type ? boost::core::demangle(type->name()) : "unknown";
    f.message = "threw something that is not a std::exception";
  }
  if (f.kind == failure_kind::worker_lost) f.kind = failure_kind::user;  // the server's to say
  return f;
}

bool call_function(registered_function const& f, context& c, value_view args, value& result,
                   failure& why) noexcept {
  try {
    f.call(c, args, result);
  } catch (...) {
    why = failure_of_current_exception();
    if (c.cancelled() && why.kind == failure_kind::user) why.kind = failure_kind::cancelled;
    return false;
  }
  if (result.bytes.size() > result_bytes_max) {
    why = {failure_kind::user, "muster::result_too_large",
           "the result has " + std::to_string(result.bytes.size()) + " bytes, the limit is " +
               std::to_string(result_bytes_max)};
    result.bytes = {};
    return false;
  }
  if (result.bytes.empty() && result.encoding == encoding::json) result.bytes = "null";
  return true;
}

}  // namespace muster
