// Passes closures from REST to the engine, and writes the answer. Web thread.
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
  bool created = false;  // the job was created by this request
};

/// Appends closures to an open job: all of them or none. Closures at positions from `first` on that
/// the job already has are skipped. Errors: those of the core; RESOURCE_EXHAUSTED, the caller's
/// limits; UNAVAILABLE.
coro::task<muster::result<scheduled>> schedule(web_context& context, core::caller who,
                                               core::session_id job, server::submission closures,
                                               std::optional<std::uint64_t> first = {});

/// Returns the problem of a submission. An error about a field is 422: the value matches the schema
/// but is impossible. Other errors are about the job or the server.
problem submission_problem(muster::status const& s);

void members(member_list const& m, scheduled const& now);
/// Writes the answer to an append of `accepted` closures, with or without their ids.
void appended_members(member_list const& m, scheduled const& now, std::uint64_t accepted,
                      bool with_ids);

}  // namespace muster::web
