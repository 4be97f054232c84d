// Requests for jobs and sessions: open, schedule, seal, cancel, close, delete, retry. Those for
// resumable sessions only are in resumable_sessions.hpp, and calls that wait in parked_calls.hpp.
//
// Owned by the coordinator, used within a step; engine thread only.
#pragma once

#include <string>
#include <vector>

#include "server/core/transitions/admission/admission.hpp"
#include "server/core/transitions/sessions/session_ends.hpp"

namespace muster::core {

class session_requests {
 public:
  session_requests(engine_state& core, release_texts& texts, session_flow& flow, lifecycle& life,
                   admission& admitting, session_ends& ends)
      : core_(core), texts_(texts), flow_(flow), life_(life), admission_(admitting), ends_(ends) {}

  /// Ends a queued closure, or asks a held one's worker to stop it. NOT_FOUND.
  void cancel_one(cancel_closure const& e);
  /// Closes the job to further closures; it ends with its last one. NOT_FOUND.
  void seal(seal_session const& e);
  /// Stops all unfinished closures. NOT_FOUND.
  void cancel_all(cancel_session const& e);
  /// Stops the session of a stream whose client has left, then deletes it.
  void close(close_session const& e);
  /// Forgets a job that has ended. FAILED_PRECONDITION if it has not; NOT_FOUND.
  void delete_job(delete_session const& e);
  /// Opens a job from the failed and cancelled closures of another job. Consumes the event.
  void retry(retry_job& e);
  /// Opens a session with all or none of its first closures. If the idempotency key is known,
  /// answers with the session that it opened. Consumes the event.
  void open(open_session& e);
  /// Adds all or none of these closures to an open session. For a stream without a call, each
  /// closure that cannot be added gets a failed outcome instead. Consumes the event.
  void append(core::schedule& e);

 private:
  /// Returns why a resumable session cannot keep `n` more records; empty if it can.
  std::string no_place_to_hold(session const& s, std::size_t n) const;
  /// Returns why this job cannot be retried; empty if it can.
  std::string why_no_retry(session const& s) const;
  /// Restores the closure as it was submitted. Returns why it cannot; empty on success.
  /// @param position positions in the new job, by order in the old one; not_in_it if not retried.
  std::string as_submitted(slot c, std::vector<std::uint32_t> const& position,
                           closure_spec& into) const;
  status room_for(session const& s, std::uint64_t waiting, std::size_t n) const;
  status appendable(session const& s, core::schedule const& e) const;
  /// Removes closures that the job already has and adds their ids to `known`.
  status pass_over(session const& s, core::schedule& e, std::vector<closure_id>& known) const;

  engine_state& core_;
  release_texts& texts_;
  session_flow& flow_;
  lifecycle& life_;
  admission& admission_;
  session_ends& ends_;
};

}  // namespace muster::core
