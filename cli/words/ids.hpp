// Which kind of thing an id names, and which verb shows it. Pure; any thread.
#pragma once

#include <string>

namespace muster::cli {

/// Whether a word begins as the ids of something do: "job_…", "cl_…".
bool is_id_of_any_kind(std::string const& word);

/// Of an id that a verb cannot take: "'prog_1' is a program: 'muster programs show prog_1'". Of
/// what is no id of anything: "'x' is neither " and `wanted`.
std::string other_id(std::string const& id, std::string const& wanted);

}  // namespace muster::cli
