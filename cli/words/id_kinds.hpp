// The kinds of IDs, and the commands that show them. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace muster::cli {

/// Returns whether the word begins like an ID, such as "job_…" or "cl_…".
bool is_id_of_any_kind(std::string const& word);
/// Returns whether the word is the prefix followed by hexadecimal digits, unlike "prog_train".
bool is_id_with(std::string_view prefix, std::string_view word);

/// For an ID of another kind, returns "'prog_1' is a program: 'muster programs show prog_1'". For
/// any other word, returns "'x' is neither " followed by `wanted`.
std::string other_id(std::string const& id, std::string const& wanted);

}  // namespace muster::cli
