#include "server/core/texts/attempt_texts.hpp"

#include "server/core/api/id_text.hpp"

namespace muster::core {

std::string text(attempt_outcome const& o) {
  switch (o.how) {
    case attempt_end::running:
      return "running";
    case attempt_end::succeeded:
      return "succeeded";
    case attempt_end::failed:
      return "failed";
    case attempt_end::cancelled:
      return "cancelled";
    case attempt_end::worker_lost:
      return "worker lost: " + o.detail;
    case attempt_end::connection_broke:
      return "the connection to its worker broke: " + o.detail;
    case attempt_end::not_there:
      return "its worker reconnected without this closure";
    case attempt_end::stale_handle:
      return "the worker no longer provides the function: " + o.detail;
    case attempt_end::dependency_lost:
      return "lost " + o.detail;
    case attempt_end::timed_out:
      return "timed out: " + o.detail;
    case attempt_end::user_error:
      return "failed: " + o.detail;
    case attempt_end::value_lost:
      return "succeeded, but its value was lost; it runs again as " + text(o.again);
    case attempt_end::retracted:
      return "it was returned to the queue before it started";
    case attempt_end::earlier:
      return o.detail;
  }
  return {};
}

}  // namespace muster::core
