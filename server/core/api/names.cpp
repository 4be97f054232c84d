// The words for states and kinds, and ids as people see them.
#include "base/text.hpp"
#include "server/core/api/effects.hpp"
#include "server/core/api/id_text.hpp"
#include "server/core/api/listings.hpp"

namespace muster::core {

std::string text(session_id id) {
  return "job_" + hex16(raw(id));
}
std::string text(closure_id id) {
  return "cl_" + hex16(raw(id));
}
std::string text(per_worker_id id) {
  return "pw_" + hex16(raw(id));
}

std::string_view name(closure_state s) {
  switch (s) {
    case closure_state::blocked:
      return "BLOCKED";
    case closure_state::queued:
      return "QUEUED";
    case closure_state::running:
      return "RUNNING";
    case closure_state::succeeded:
      return "SUCCEEDED";
    case closure_state::failed:
      return "FAILED";
    case closure_state::cancelled:
      return "CANCELLED";
  }
  return "?";
}

std::string_view name(value_state s) {
  switch (s) {
    case value_state::not_ready:
      return "NOT_READY";
    case value_state::ready:
      return "READY";
    case value_state::aborted:
      return "ABORTED";
  }
  return "?";
}

std::string_view name(failure_kind k) {
  switch (k) {
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
  return "?";
}

std::string_view name(task_state s) {
  switch (s) {
    case task_state::connected:
      return "CONNECTED";
    case task_state::late:
      return "LATE";
    case task_state::error:
      return "ERROR";
    case task_state::disconnected:
      return "DISCONNECTED";
  }
  return "?";
}

std::string_view name(job_state s) {
  switch (s) {
    case job_state::running:
      return "RUNNING";
    case job_state::succeeded:
      return "SUCCEEDED";
    case job_state::failed:
      return "FAILED";
    case job_state::cancelled:
      return "CANCELLED";
  }
  return "?";
}

std::string_view name(remark_kind k) {
  switch (k) {
    case remark_kind::worker_away:
      return "worker_away";
    case remark_kind::worker_returned:
      return "worker_returned";
    case remark_kind::worker_lost:
      return "worker_lost";
    case remark_kind::worker_given_up:
      return "worker_given_up";
    case remark_kind::task_cordoned:
      return "task_cordoned";
    case remark_kind::task_uncordoned:
      return "task_uncordoned";
    case remark_kind::dependency_lost:
      return "dependency_lost";
    case remark_kind::closure_alone:
      return "closure_alone";
    case remark_kind::no_progress:
      return "no_progress";
    case remark_kind::spill_failed:
      return "spill_failed";
    case remark_kind::values_dropped:
      return "values_dropped";
    case remark_kind::job_failed:
      return "job_failed";
    case remark_kind::session_failed:
      return "session_failed";
  }
  return "?";
}

std::string_view name(release_reason r) {
  switch (r) {
    case release_reason::client:
      return "client";
    case release_reason::session_end:
      return "session_end";
    case release_reason::job_deleted:
      return "job_deleted";
    case release_reason::jobs:
      return "jobs";
    case release_reason::bytes:
      return "bytes";
    case release_reason::age:
      return "age";
    case release_reason::session_values:
      return "session_values";
    case release_reason::session_bytes:
      return "session_bytes";
    case release_reason::spill_bytes:
      return "spill_bytes";
    case release_reason::unreadable:
      return "unreadable";
  }
  return "?";
}

std::string_view name(value_whereabouts w) {
  constexpr std::string_view names[] = {"none", "memory", "disk", "released"};
  return names[static_cast<std::size_t>(w)];
}

std::string_view name(on_error e) {
  return e == on_error::fail_fast ? "fail_fast" : "continue";
}

void effects::clear() {
  welcomes.clear();
  dispatches.clear();
  assignments.clear();
  stop_requests.clear();
  recalls.clear();
  drop_requests.clear();
  drain_requests.clear();
  disconnects.clear();
  outcomes.clear();
  notices.clear();
  released.clear();
  remarks.clear();
  value_moves.clear();
  facts.clear();
  replies.clear();
}

}  // namespace muster::core
