// The names that people and programs use for jobs, closures, values and per-worker values: a prefix
// and 16 hex digits. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/core/api/ids.hpp"

namespace muster::web {

std::string job_text(core::session_id id);            // job_0000000000000001
std::string closure_text(core::closure_id id);        // cl_…
std::string value_text(core::closure_id id);          // rv_…: the output has its closure's number
std::string per_worker_text(core::per_worker_id id);  // pw_…

/// Nothing unless it is the prefix and 16 lower-case hex digits.
std::optional<core::session_id> parse_job(std::string_view text);
std::optional<core::closure_id> parse_closure(std::string_view text);
std::optional<core::closure_id> parse_value(std::string_view text);
std::optional<core::per_worker_id> parse_per_worker(std::string_view text);

}  // namespace muster::web
