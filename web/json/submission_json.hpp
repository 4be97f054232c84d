// What a REST client submits, from JSON to a submission. Pure functions, web thread.
#pragma once

#include "server/hub/submission.hpp"
#include "web/json/json_fields.hpp"

namespace muster::web {

struct job_request {
  std::string cluster;  // empty: the main one
  core::session_spec spec;
  server::submission closures;
};

/// The `options` of a closure and of a job. Any thread.
json_object<core::closure_options> const& closure_options_table();
json_object<core::session_spec> const& job_options_table();
/// The members of a job's request beside its options.
std::vector<json_field<core::session_spec>> job_fields();

/// What the readers below take.
std::vector<schema::named> submission_schemas();
/// The body of POST /api/v1/jobs.
job_request read_job(json_check& check, json_ref const& body);
/// One element of `closures`, or one line of NDJSON.
void read_closure(json_check& check, json_ref const& item, server::submission& into);
/// A JSON array of closures.
void read_closures(json_check& check, json_ref const& list, server::submission& into);

/// The body of POST /api/v1/jobs/{id}/retry: the name of the new job; empty: the old one's.
std::string read_retry(json_check& check, json_ref const& body);

struct per_worker_request {
  std::string cluster;  // empty: the main one
  std::string function;
  std::string name;
  core::blob args;
};
/// The body of POST /api/v1/per_worker_values.
per_worker_request read_per_worker(json_check& check, json_ref const& body);

}  // namespace muster::web
