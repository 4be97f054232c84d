// Parsers of ids: a prefix and 16 hex digits, as core::text() writes them. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/core/api/datasets.hpp"
#include "server/core/api/id_text.hpp"

namespace muster::server {

/// Returns "rv_…" for the value of a closure; it has the closure's number.
std::string value_text(core::closure_id id);

/// Returns nothing unless the string is the prefix and 16 lower-case hex digits.
std::optional<core::session_id> parse_job(std::string_view text);
std::optional<core::closure_id> parse_closure(std::string_view text);
std::optional<core::closure_id> parse_value(std::string_view text);
std::optional<core::per_worker_id> parse_per_worker(std::string_view text);
std::optional<core::program_id> parse_program(std::string_view text);
std::optional<core::object_id> parse_object(std::string_view text);
std::optional<core::dataset_id> parse_dataset(std::string_view text);

}  // namespace muster::server
