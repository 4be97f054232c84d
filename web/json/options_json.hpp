// The `options` of a closure and of a job, from JSON: tables that read them and tell their schemas.
// Any thread.
#pragma once

#include "server/core/api/model.hpp"
#include "web/json/json_fields.hpp"

namespace muster::web {

json_object<core::closure_options> const& closure_options_table();
json_object<core::session_spec> const& job_options_table();

}  // namespace muster::web
