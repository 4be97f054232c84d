// Passes closures from REST to the engine, and writes the response.
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
  bool created = false;
};

/// Appends either all closures or no closures to an open job. With `first`, skips closures at
/// positions that the job already has. Returns the same errors as the core, RESOURCE_EXHAUSTED at
/// the caller's limits, or UNAVAILABLE.
coro::task<muster::result<scheduled>> schedule(web_context& context, core::caller who,
                                               core::session_id job, server::submission closures,
                                               std::optional<std::uint64_t> first = {});

/// An error about a field becomes 422, because the value matches the schema but is impossible.
/// Other errors concern the job or the server.
problem submission_problem(muster::status const& s);

void members(member_list const& m, scheduled const& now);
void appended_members(member_list const& m, scheduled const& now, std::uint64_t accepted,
                      bool with_ids);

}  // namespace muster::web
