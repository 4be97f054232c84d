// The kinds of ids, and the commands that show them. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace muster::cli {

/// Returns whether a word begins like an id: "job_…", "cl_…".
bool is_id_of_any_kind(std::string const& word);
/// Returns whether the word is this prefix followed by hexadecimal digits. A name such as
/// "prog_train" is not an id.
bool is_id_with(std::string_view prefix, std::string_view word);

/// Returns the message for an id of an unsuitable kind: "'prog_1' is a program: 'muster programs
/// show prog_1'". For any other text returns "'x' is neither " and `wanted`.
std::string other_id(std::string const& id, std::string const& wanted);

}  // namespace muster::cli
