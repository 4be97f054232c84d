// What a REST client submits, from JSON to a submission. Pure functions, web thread.
#pragma once

#include "server/hub/submission.hpp"
#include "web/json/json_check.hpp"

namespace muster::web {

struct job_request {
  core::session_spec spec;
  server::submission closures;
};

/// The body of POST /api/v1/jobs.
job_request read_job(json_check& check, json_ref const& body);
/// One element of `closures`, or one line of NDJSON.
void read_closure(json_check& check, json_ref const& item, server::submission& into);
/// A JSON array of closures.
void read_closures(json_check& check, json_ref const& list, server::submission& into);

}  // namespace muster::web
