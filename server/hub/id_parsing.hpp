// Parsers of IDs: a prefix and 16 hexadecimal digits, as core::text() formats them. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/core/api/datasets.hpp"
#include "server/core/api/id_text.hpp"

namespace muster::server {

/// Returns "rv_…" for a closure's value, which has the closure's number.
std::string value_text(core::closure_id id);

/// These functions return nothing unless the text is the prefix and 16 lower-case hexadecimal
/// digits.
std::optional<core::session_id> parse_job(std::string_view text);
std::optional<core::closure_id> parse_closure(std::string_view text);
std::optional<core::closure_id> parse_value(std::string_view text);
std::optional<core::per_worker_id> parse_per_worker(std::string_view text);
std::optional<core::program_id> parse_program(std::string_view text);
std::optional<core::object_id> parse_object(std::string_view text);
std::optional<core::dataset_id> parse_dataset(std::string_view text);

}  // namespace muster::server
