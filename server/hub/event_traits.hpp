// What the hub needs to know of the core's events: an overload for each event that is special, and
// one that answers for all others.
#pragma once

#include <variant>

#include "server/core/programs/controller.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/hub/commit_gate.hpp"

namespace muster::server {

struct event_traits {
  using sessions = commit_gate::sessions;

  /// Returns the sessions other than its own whose values the event's closures take as inputs.
  static sessions inputs(auto const&, auto const&, auto const&) { return {}; }
  static sessions inputs(core::schedule const& e, core::coordinator const& c,
                         commit_gate const& g) {
    return g.inputs(c, e.closures, e.session);
  }
  static sessions inputs(core::open_session const& e, core::coordinator const& c,
                         commit_gate const& g) {
    return g.inputs(c, e.closures, {});
  }
  static sessions inputs(core::retry_job const& e, core::coordinator const&, commit_gate const& g) {
    return g.inputs(e.session);
  }
  /// Returns the session that takes these inputs: the one that the step has opened, or an old one.
  static core::session_id consumer(auto const&, core::effects const& fx) {
    for (auto const& r : fx.replies)
      if (auto const* opened = std::get_if<core::session_reply>(&r.body)) return opened->session;
    return {};
  }
  static core::session_id consumer(core::schedule const& e, core::effects const&) {
    return e.session;
  }

  /// Returns the session of a call; none if it is known only once the call is answered, or never.
  static core::session_id session(auto const& e, core::coordinator const& c) {
    if constexpr (requires { e.session; })
      return e.session;
    else if constexpr (requires { e.closure; })
      return c.session_of(e.closure);
    else
      return {};
  }
  static core::session_id session(core::retry_job const&, core::coordinator const&) { return {}; }

  /// Returns whether the event creates something durable. An event that repeats an idempotency key
  /// creates nothing.
  static bool is_durable(auto const&, core::coordinator const&) { return false; }
  static bool is_durable(core::schedule const& e, core::coordinator const& c) {
    return c.is_durable(e.session);
  }
  static bool is_durable(core::retry_job const& e, core::coordinator const& c) {
    return c.is_durable(e.session);
  }
  static bool is_durable(core::open_session const& e, core::coordinator const& c) {
    return core::traits_of(e.spec.delivery).keeps_records &&
           e.spec.durable.value_or(c.configuration().durable) && !c.sessions().has_key(e.spec);
  }
  static bool is_durable(core::submit_program const& e, core::coordinator const& c) {
    return c.configuration().durable &&
           !c.programs().has_key(e.spec.submitted_by, e.spec.idempotency_key);
  }
  static bool is_durable(core::create_per_worker const& e, core::coordinator const& c) {
    return e.owner == core::session_id{} ? c.configuration().durable : c.is_durable(e.owner);
  }
  /// Returns why the event cannot be accepted because of the journal; OK if it can.
  static muster::status refusal(auto const& e, core::coordinator const& c, commit_gate const& g) {
    return is_durable(e, c) ? g.refusal() : muster::status{};
  }
  static muster::status refusal(core::resume_session const& e, core::coordinator const& c,
                                commit_gate const& g) {
    return c.is_durable(e.session) ? g.failure() : muster::status{};
  }

  /// Returns the ranks that the event reports as started or ended; null if it reports none.
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
  /// Returns the event if it reports the end of a worker's stream, else null.
  static core::worker_disconnected const* disconnect(auto const&) { return nullptr; }
  static core::worker_disconnected const* disconnect(core::worker_disconnected const& e) {
    return &e;
  }
};

}  // namespace muster::server
