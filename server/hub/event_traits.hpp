// Properties of the core's events that a hub needs. Each function has overloads for special events
// and a default. Owned by a hub; used only on the engine thread.
#pragma once

#include <variant>

#include "server/core/programs/controller.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/hub/commit_gate.hpp"

namespace muster::server {

class event_traits {
 public:
  using sessions = commit_gate::sessions;

  event_traits(core::coordinator const& core, commit_gate const& gate) : core_(core), gate_(gate) {}

  /// Returns the other sessions whose values are inputs of the event's closures.
  sessions inputs(auto const&) const { return {}; }
  sessions inputs(core::schedule const& e) const {
    return gate_.inputs(core_, e.closures, e.session);
  }
  sessions inputs(core::open_session const& e) const { return gate_.inputs(core_, e.closures, {}); }
  sessions inputs(core::retry_job const& e) const { return gate_.inputs(e.session); }
  /// Returns the session that uses the inputs: the session that the step opened, or the event's
  /// session.
  static core::session_id consumer(auto const&, core::effects const& fx) {
    for (auto const& r : fx.replies)
      if (auto const* opened = std::get_if<core::session_reply>(&r.body)) return opened->session;
    return {};
  }
  static core::session_id consumer(core::schedule const& e, core::effects const&) {
    return e.session;
  }

  /// Returns a call's session, or nothing if the session is unknown before the answer.
  core::session_id session(auto const& e) const {
    if constexpr (requires { e.session; })
      return e.session;
    else if constexpr (requires { e.closure; })
      return core_.session_of(e.closure);
    else
      return {};
  }
  core::session_id session(core::retry_job const&) const { return {}; }

  /// Returns whether the event creates a durable object. An event with a known idempotency key
  /// creates no object.
  bool is_durable(auto const&) const { return false; }
  bool is_durable(core::schedule const& e) const { return core_.is_durable(e.session); }
  bool is_durable(core::retry_job const& e) const { return core_.is_durable(e.session); }
  bool is_durable(core::open_session const& e) const {
    return core::traits_of(e.spec.delivery).keeps_records &&
           e.spec.durable.value_or(core_.configuration().durable) &&
           !core_.sessions().has_key(e.spec);
  }
  bool is_durable(core::submit_program const& e) const {
    return core_.configuration().durable &&
           !core_.programs().has_key(e.spec.submitted_by, e.spec.idempotency_key);
  }
  bool is_durable(core::create_per_worker const& e) const {
    return e.owner == core::session_id{} ? core_.configuration().durable
                                         : core_.is_durable(e.owner);
  }
  /// Returns OK, or the reason why the journal cannot accept the event.
  muster::status refusal(auto const& e) const {
    return is_durable(e) ? gate_.refusal() : muster::status{};
  }
  muster::status refusal(core::resume_session const& e) const {
    return core_.is_durable(e.session) ? gate_.failure() : muster::status{};
  }

  static core::rank_reports const* ranks(auto const&) { return nullptr; }
  static core::rank_reports const* ranks(core::rank_reports const& e) { return &e; }
  /// Returns the ranks that ended while their worker was disconnected.
  static core::rank_reports ended_ranks(auto const&) { return {}; }
  static core::rank_reports ended_ranks(core::worker_attached const& e) {
    core::rank_reports all{.stream = e.stream};
    if (e.programs)
      for (auto const& h : e.programs->held)
        if (h.ended) all.ended.push_back(*h.ended);
    return all;
  }
  /// Returns the event if a worker's stream has ended, otherwise null.
  static core::worker_disconnected const* disconnect(auto const&) { return nullptr; }
  static core::worker_disconnected const* disconnect(core::worker_disconnected const& e) {
    return &e;
  }

 private:
  core::coordinator const& core_;
  commit_gate const& gate_;
};

}  // namespace muster::server
