#include "server/hub/access/use.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "server/core/queries/session_queries.hpp"

namespace muster::server {

muster::status check_owner(core::caller const& who, hub& h, core::session_id session) {
  auto const owner = h.state().sessions().submitter(session);
  if (!h.state().knows(session) || core::can_change(who, owner)) return {};
  return {code::permission_denied, "this job or program was submitted with token '" +
                                       std::string(owner) + "', and token '" + who->id +
                                       "' is not an admin token"};
}

muster::status check_function(core::caller const& who, std::string_view function) {
  if (!who || who->allow_exec || function != "muster.exec") return {};
  return {code::permission_denied, "'" + std::string(function) +
                                       "' runs programs on workers, which token '" + who->id +
                                       "' does not allow: create a token with --allow-exec"};
}

namespace {

core::submitter_usage usage_of(core::token const& who, pools& all) {
  core::submitter_usage u;
  all.for_each([&](hub& h) { h.state().sessions().add_usage(who.id, u); });
  u.value_bytes += all.blob_bytes_of(who.id);
  return u;
}

std::uint64_t entries_of(core::submitter_usage const& u) {
  return u.queued + u.ranks + u.per_worker;
}

// Returns, for example, "3 queued closures, 1 rank of a program".
std::string queue_text(core::submitter_usage const& u) {
  auto text = std::to_string(u.queued) + (u.queued == 1 ? " queued closure" : " queued closures");
  if (u.ranks > 0)
    text += ", " + std::to_string(u.ranks) +
            (u.ranks == 1 ? " rank of a program" : " ranks of programs");
  if (u.per_worker > 0)
    text += ", " + std::to_string(u.per_worker) +
            (u.per_worker == 1 ? " per-worker value" : " per-worker values");
  return text;
}

// Returns RESOURCE_EXHAUSTED if `more` would exceed the limit. 0 means unlimited.
muster::status over(core::token const& who, std::string const& what, std::uint64_t have,
                    std::uint64_t more, std::uint64_t limit, char const* name) {
  if (limit == 0 || have + more <= limit) return {};
  auto text = "token '" + who.id + "' has " + what + ", its limit is " + std::to_string(limit) +
              " (" + name + ")";
  return {code::resource_exhausted, std::move(text), {}, limit};
}

muster::status over_values(core::token const& who, core::submitter_usage const& u,
                           std::uint64_t more) {
  return over(who, std::to_string(u.value_bytes) + " bytes of values", u.value_bytes, more,
              who.value_bytes_max, "value_bytes_max");
}

}  // namespace

muster::status room_of(core::token const& who, pools& all, std::size_t sessions,
                       std::size_t entries) {
  if (who.queued_max + who.sessions_max + who.value_bytes_max == 0) return {};
  auto const u = usage_of(who, all);
  if (auto s = over(who, std::to_string(u.sessions) + " unfinished jobs, sessions and programs",
                    u.sessions, sessions, who.sessions_max, "sessions_max");
      !s.ok())
    return s;
  if (auto s = over(who, queue_text(u), entries_of(u), entries, who.queued_max, "queued_max");
      !s.ok())
    return s;
  return over_values(who, u, entries > 0 ? 1 : 0);
}

std::size_t queue_room_of(core::token const& who, pools& all) {
  if (who.queued_max == 0) return std::numeric_limits<std::size_t>::max();
  auto const have = usage_of(who, all).queued;
  return have < who.queued_max ? who.queued_max - have : 0;
}

muster::status room_for_values(core::token const& who, pools& all, std::uint64_t more) {
  if (who.value_bytes_max == 0) return {};
  return over_values(who, usage_of(who, all), more);
}

void limit_to(core::token const& who, core::session_spec& spec) {
  if (who.queued_max == 0) return;
  spec.queue_capacity = spec.queue_capacity == 0
                            ? who.queued_max
                            : std::min<std::size_t>(spec.queue_capacity, who.queued_max);
}

}  // namespace muster::server
