// The words for states and kinds, and ids as people see them.
#include "base/enum_names.hpp"
#include "base/text.hpp"
#include "server/core/api/effects.hpp"
#include "server/core/api/explanation.hpp"
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
  static constexpr std::string_view names[] = {"BLOCKED",   "QUEUED", "RUNNING",
                                               "SUCCEEDED", "FAILED", "CANCELLED"};
  return named<closure_state::cancelled>(names, s);
}

std::string_view name(value_state s) {
  static constexpr std::string_view names[] = {"NOT_READY", "READY", "ABORTED"};
  return named<value_state::aborted>(names, s);
}

std::string_view name(failure_kind k) {
  static constexpr std::string_view names[] = {
      "USER", "WORKER_LOST", "STALE_HANDLE", "DEPENDENCY_LOST", "TIMEOUT", "CANCELLED", "INPUT"};
  return named<failure_kind::input>(names, k);
}

std::string_view name(task_state s) {
  static constexpr std::string_view names[] = {"CONNECTED", "LATE", "ERROR", "DISCONNECTED"};
  return named<task_state::disconnected>(names, s);
}

std::string_view name(job_state s) {
  static constexpr std::string_view names[] = {"RUNNING", "SUCCEEDED", "FAILED", "CANCELLED",
                                               "QUEUED"};
  return named<job_state::queued>(names, s);
}

std::string_view name(attempt_end e) {
  static constexpr std::string_view names[] = {
      "RUNNING",          "SUCCEEDED",  "FAILED",       "CANCELLED",       "WORKER_LOST",
      "CONNECTION_BROKE", "NOT_THERE",  "STALE_HANDLE", "DEPENDENCY_LOST", "TIMED_OUT",
      "USER_ERROR",       "VALUE_LOST", "RECALLED",     "EARLIER"};
  return named<attempt_end::earlier>(names, e);
}

std::string_view name(closure_reason r) {
  static constexpr std::string_view names[] = {"INPUT_NOT_READY",
                                               "INPUT_READ_BACK",
                                               "INPUT_MADE_AGAIN",
                                               "DELAY",
                                               "RETRY",
                                               "PAUSE",
                                               "MAY_RETURN",
                                               "PREFETCHED",
                                               "GANG_NOT_READY",
                                               "GANG_TOO_LARGE",
                                               "GANG_WAITS",
                                               "RUNS_ALONE",
                                               "SERVER_STOPS",
                                               "NO_WORKER",
                                               "FUNCTION_UNSEEN",
                                               "FUNCTION_ABSENT",
                                               "WORKERS_CLOSED",
                                               "WORKERS_START",
                                               "UNSATISFIABLE",
                                               "WORKERS_HELD_BACK",
                                               "BUSY",
                                               "RUNNING",
                                               "SUCCEEDED",
                                               "FAILED",
                                               "CANCELLED",
                                               "INPUT_ELSEWHERE"};
  return named<closure_reason::input_elsewhere>(names, r);
}

std::string_view name(release_reason r) {
  static constexpr std::string_view names[] = {
      "client",         "session_end",   "job_deleted", "jobs",       "bytes",      "age",
      "session_values", "session_bytes", "spill_bytes", "unreadable", "holder_lost"};
  return named<release_reason::holder_lost>(names, r);
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
  retractions.clear();
  drop_requests.clear();
  drain_requests.clear();
  disconnects.clear();
  rank_orders.clear();
  outcomes.clear();
  notices.clear();
  released.clear();
  value_moves.clear();
  facts.clear();
  program_facts.clear();
  replies.clear();
  changes.clear();
}

void changes::clear() {
  auto const empty = [](auto&... lists) {
    constexpr std::size_t kept = 16'384;  // a million closures that end in one step stay no memory
    ((lists.clear(),
      lists.capacity() > kept ? std::decay_t<decltype(lists)>().swap(lists) : void()),
     ...);
  };
  empty(functions, places, workers, tasks, names, sessions, created, moved, attempts, ended,
        failures, values, values_read, waits.queue, waits.value, released, per_worker, components,
        sessions_released, let_go, programs, incidents);
}

}  // namespace muster::core
