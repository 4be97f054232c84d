// The kinds of IDs, and the commands that show them. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace muster::cli {

/// Returns whether the word begins like an ID, such as "job_…" or "cl_…".
bool is_id_of_any_kind(std::string const& word);
/// Returns whether the word is the prefix with hexadecimal digits, unlike "prog_train".
bool is_id_with(std::string_view prefix, std::string_view word);

/// Returns "'prog_1' is a program: 'muster programs show prog_1'" for an ID of an unsuitable kind,
/// otherwise "'x' is neither " and `wanted`.
std::string other_id(std::string const& id, std::string const& wanted);

}  // namespace muster::cli
