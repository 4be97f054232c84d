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
    constexpr std::size_t kept = 16'384;
    ((lists.clear(),
      lists.capacity() > kept ? std::decay_t<decltype(lists)>().swap(lists) : void()),
     ...);
  };
  empty(functions, places, workers, tasks, names, sessions, created, moved, attempts, ended,
        failures, values, values_read, waits.queue, waits.value, released, per_worker, components,
        sessions_released, let_go, programs, incidents);
}

}  // namespace muster::core
