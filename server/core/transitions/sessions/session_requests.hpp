// Handles requests for jobs and sessions: open, schedule, seal, cancel, close, delete, retry. Used
// only on the engine thread.
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

  /// Ends a queued closure, or asks the worker to stop a running closure. Answers NOT_FOUND if the
  /// closure is unknown.
  void cancel_one(cancel_closure const& e);
  /// Closes the job to further closures, so that the job finishes when its last closure finishes.
  /// Answers NOT_FOUND if the job is unknown.
  void seal(seal_session const& e);
  /// Cancels a session. Answers NOT_FOUND if the session is unknown.
  void cancel_all(cancel_session const& e);
  void close(close_session const& e);
  /// Deletes a finished job. Answers FAILED_PRECONDITION if the job is unfinished, and NOT_FOUND if
  /// it is unknown.
  void delete_job(delete_session const& e);
  /// Opens a job from another job's failed and cancelled closures. Consumes the event.
  void retry(retry_job& e);
  /// Opens a session with all or none of its first closures. If the idempotency key is known,
  /// answers with the existing session. Consumes the event.
  void open(open_session& e);
  /// Adds all or none of these closures. If a stream's request has no call, each closure that
  /// cannot be added receives a failed outcome. Consumes the event.
  void append(core::schedule& e);

 private:
  /// Returns why a resumable session cannot keep `n` more records, or an empty string.
  std::string no_place_to_hold(session const& s, std::size_t n) const;
  std::string why_no_retry(session const& s) const;
  /// Restores the closure as it was submitted. Returns why this is impossible, or an empty string.
  /// @param position maps each position in the old job to the position in the new job, or to
  ///   not_in_it.
  std::string as_submitted(slot c, std::vector<std::uint32_t> const& position,
                           closure_spec& into) const;
  status room_for(session const& s, std::uint64_t waiting, std::size_t n) const;
  status appendable(session const& s, core::schedule const& e) const;
  /// Removes closures that the job already has, and adds their ids to `known`.
  status pass_over(session const& s, core::schedule& e, std::vector<closure_id>& known) const;

  engine_state& core_;
  release_texts& texts_;
  session_flow& flow_;
  lifecycle& life_;
  admission& admission_;
  session_ends& ends_;
};

}  // namespace muster::core
