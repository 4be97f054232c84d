#include "client/worker/function_call.hpp"

#include "client/failure_text.hpp"

namespace muster {

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
    why = {failure_kind::user,
           "muster::result_too_large",
           "the result has " + std::to_string(result.bytes.size()) + " bytes, the limit is " +
               std::to_string(result_bytes_max),
           {},
           {},
           0};
    result.bytes = {};
    return false;
  }
  if (result.bytes.empty() && result.encoding == encoding::json) result.bytes = "null";
  return true;
}

}  // namespace muster
