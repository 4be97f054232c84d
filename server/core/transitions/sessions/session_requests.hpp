// What clients ask of jobs and sessions: open, schedule, seal, cancel, close, delete, run again.
// What only resumable sessions know is in resumable_sessions.hpp, calls that wait in
// parked_calls.hpp.
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

  /// Ends a queued closure, has the worker of a held one asked to stop it; of one that has ended
  /// nothing comes. NOT_FOUND.
  void cancel_one(cancel_closure const& e);
  /// Takes no more closures; the job ends with the last one it has. NOT_FOUND.
  void seal(seal_session const& e);
  /// Stops all that is unfinished. NOT_FOUND.
  void cancel_all(cancel_session const& e);
  /// The client of a stream is gone: what is left stops, then the session goes.
  void close(close_session const& e);
  /// Forgets a job that has ended. FAILED_PRECONDITION: it has not. NOT_FOUND.
  void delete_job(delete_session const& e);
  /// Makes a job of what failed or was cancelled in another one. Takes the event.
  void retry(retry_job& e);
  /// Opens a session with its first closures, all of them or none; answers with what its
  /// idempotency key has opened already. Takes the event.
  void open(open_session& e);
  /// Adds closures to an open session, all of them or none. Of a stream that has no call each that
  /// cannot be taken has its outcome. Takes the event.
  void append(core::schedule& e);

 private:
  /// Why a resumable session cannot keep n more records; empty when it can.
  std::string no_place_to_hold(session const& s, std::size_t n) const;
  /// Why no job can be made of what did not succeed in this one; empty when one may.
  std::string why_no_retry(session const& s) const;
  /// The closure as it was submitted. `position`: of closures of its job in the new one, by their
  /// order; none for those that are not in it. Empty, or why it cannot be.
  std::string as_submitted(slot c, std::vector<std::uint32_t> const& position,
                           closure_spec& into) const;
  status room_for(session const& s, std::uint64_t waiting, std::size_t n) const;
  /// Whether the session takes these closures now.
  status appendable(session const& s, core::schedule const& e) const;
  /// Takes out those that the job has already, by their positions, and notes their ids.
  status pass_over(session const& s, core::schedule& e, std::vector<closure_id>& known) const;

  engine_state& core_;
  release_texts& texts_;
  session_flow& flow_;
  lifecycle& life_;
  admission& admission_;
  session_ends& ends_;
};

}  // namespace muster::core
