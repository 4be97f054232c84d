// How REST hands closures to the engine, and how it shows what became of them. Web thread.
#pragma once

#include <vector>

#include "server/core/api/views.hpp"
#include "web/json/members.hpp"
#include "web/json/submission_json.hpp"
#include "web/rest/web_context.hpp"

namespace muster::web {

struct scheduled {
  core::job_view job;
  std::vector<core::closure_id> closures;
  bool created = false;  // the job, by this request
};

/// Appends closures to an open job: all of them or none; those that it has already at the positions
/// from `first` on are passed over. Errors: the core's; RESOURCE_EXHAUSTED, the caller's limits;
/// UNAVAILABLE.
coro::task<muster::result<scheduled>> schedule(web_context& context, core::caller who,
                                               core::session_id job, server::submission closures,
                                               std::optional<std::uint64_t> first = {});

/// What the core finds wrong with a field fits the description and cannot be: 422. The rest is
/// about the job or the server.
problem submission_problem(muster::status const& s);

/// Its job, with the ids of the closures.
void members(member_list const& m, scheduled const& now);
/// After an append: of so many closures, with their ids or without.
void appended_members(member_list const& m, scheduled const& now, std::uint64_t accepted,
                      bool with_ids);

}  // namespace muster::web
