// Which kind of thing an id names, and which verb shows it. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace muster::cli {

/// Whether a word begins as the ids of something do: "job_…", "cl_…".
bool is_id_of_any_kind(std::string const& word);
/// Returns whether the word is this prefix with hexadecimal digits behind it. A name such as
/// "prog_train" is no id.
bool is_id_with(std::string_view prefix, std::string_view word);

/// Of an id that a verb cannot take: "'prog_1' is a program: 'muster programs show prog_1'". Of
/// what is no id of anything: "'x' is neither " and `wanted`.
std::string other_id(std::string const& id, std::string const& wanted);

}  // namespace muster::cli
