// Reads job submissions of REST clients from JSON. Pure functions.
#pragma once

#include "server/hub/submission.hpp"
#include "web/json/json_fields.hpp"

namespace muster::web {

struct job_request {
  std::string cluster;  // empty for the main cluster
  core::session_spec spec;
  server::submission closures;
};

json_object<core::closure_options> const& closure_options_table();
json_object<core::session_spec> const& job_options_table();
std::vector<json_field<core::session_spec>> job_fields();

std::vector<schema::named> submission_schemas();
job_request read_job(json_check& check, json_ref const& body);
/// Reads an element of `closures`, or a line of NDJSON.
void read_closure(json_check& check, json_ref const& item, server::submission& into);
void read_closures(json_check& check, json_ref const& list, server::submission& into);

/// Reads the new job's name; if it is empty, the original name is used.
std::string read_retry(json_check& check, json_ref const& body);

struct per_worker_request {
  std::string cluster;  // empty for the main cluster
  std::string function;
  std::string name;
  core::blob args;
};
per_worker_request read_per_worker(json_check& check, json_ref const& body);

}  // namespace muster::web
