// Owners, functions that need leave, and sums over a token's sessions.
#include "server/hub/access/use.hpp"

#include <algorithm>
#include <string>

#include "server/core/queries/session_queries.hpp"

namespace muster::server {

muster::status check_owner(core::caller const& who, hub& h, core::session_id session) {
  auto const owner = h.state().sessions().submitter(session);
  if (!h.state().knows(session) || core::may_change(who, owner)) return {};
  return {code::permission_denied, "it was submitted with '" + std::string(owner) +
                                       "', and token '" + who->id + "' is not an admin's"};
}

muster::status check_function(core::caller const& who, std::string_view function) {
  if (!who || who->allow_exec || function != "muster.exec") return {};
  return {code::permission_denied, "'" + std::string(function) +
                                       "' runs programs on workers, which token '" + who->id +
                                       "' does not allow: make one with --allow-exec"};
}

namespace {

core::submitter_usage usage_of(core::token const& who, pools& all) {
  core::submitter_usage u;
  all.for_each([&](hub& h) { h.state().sessions().add_usage(who.id, u); });
  return u;
}

// Whether so many more are too many; a limit of 0 is none.
muster::status over(core::token const& who, char const* what, std::uint64_t have,
                    std::uint64_t more, std::uint64_t limit) {
  if (limit == 0 || have + more <= limit) return {};
  return {code::resource_exhausted, "token '" + who.id + "' has " + std::to_string(have) + " " +
                                        what + ", its limit is " + std::to_string(limit)};
}

}  // namespace

muster::status room_of(core::token const& who, pools& all, std::size_t sessions,
                       std::size_t closures) {
  if (who.queued_max + who.sessions_max + who.value_bytes_max == 0) return {};
  auto const u = usage_of(who, all);
  if (auto s = over(who, "unfinished jobs, sessions and programs", u.sessions, sessions,
                    who.sessions_max);
      !s.ok())
    return s;
  if (auto s = over(who, "queued closures", u.queued, closures, who.queued_max); !s.ok()) return s;
  return over(who, "bytes of values", u.value_bytes, closures > 0 ? 1 : 0, who.value_bytes_max);
}

bool is_queue_full(core::token const& who, pools& all) {
  return who.queued_max != 0 && usage_of(who, all).queued >= who.queued_max;
}

muster::status room_for_values(core::token const& who, pools& all) {
  if (who.value_bytes_max == 0) return {};
  return over(who, "bytes of values", usage_of(who, all).value_bytes, 1, who.value_bytes_max);
}

void limit_to(core::token const& who, core::session_spec& spec) {
  if (who.queued_max == 0) return;
  spec.queue_capacity = spec.queue_capacity == 0
                            ? who.queued_max
                            : std::min<std::size_t>(spec.queue_capacity, who.queued_max);
}

}  // namespace muster::server
