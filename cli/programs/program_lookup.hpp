// Finds programs on the server and describes them. Main thread.
#pragma once

#include <string>
#include <vector>

#include "cli/rest.hpp"

namespace muster::cli {

/// Returns the path "/api/v1/programs/ID" of a program with this name or id. If several have the
/// name, returns the newest. Throws as find_target.
std::string path_of_program(rest& server, std::string const& name_or_id);

/// Returns "rank 3", or "rank 3 (ps:0)" if its task is not worker:3. Returns the task if the rank
/// has no number.
std::string rank_label_of(json::value const& rank, char const* number = "rank",
                          char const* task = "task");

/// Returns sentences about lost workers that may still run ranks of the program.
std::vector<std::string> losses_of(json::value const& program);

/// Returns the ranks of the program's last attempt, by number.
json::array ranks_of(rest& server, std::string const& path);

/// Returns how many ranks started without `preload`, and why the first did. Empty: none.
std::string without_preload(json::array const& ranks);

bool has_ended(json::value const& program);
/// Returns "train (prog_0000000000000001)".
std::string title_of(json::value const& program);
/// Returns why the program failed, with its last lines on stderr. Empty: it did not fail.
std::string cause_of(json::value const& program);
/// Returns the exit status of a command that waited for the program: 0, or that of the first
/// failure, as in `muster run`.
int exit_status_of(json::value const& program);

}  // namespace muster::cli
