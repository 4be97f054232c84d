// Finds programs on the server and describes them. Main thread.
#pragma once

#include <string>
#include <vector>

#include "cli/rest.hpp"

namespace muster::cli {

/// Returns "/api/v1/programs/ID" for a name or id; for a name, the newest program. Throws as
/// find_target.
std::string path_of_program(rest& server, std::string const& name_or_id);

/// Returns "rank 3", or "rank 3 (ps:0)" if its task is not worker:3. Without a number, returns the
/// task.
std::string rank_label_of(json::value const& rank, char const* number = "rank",
                          char const* task = "task");

/// Sentences about lost workers that may still run ranks.
std::vector<std::string> losses_of(json::value const& program);

/// Returns the ranks of the last attempt, by number.
json::array ranks_of(rest& server, std::string const& path);

/// Returns how many ranks started without `preload`, and why the first did; or nothing.
std::string without_preload(json::array const& ranks);

bool has_ended(json::value const& program);
/// Returns "train (prog_0000000000000001)".
std::string title_of(json::value const& program);
/// Returns why it failed, with the last lines on stderr; or nothing.
std::string cause_of(json::value const& program);
/// Returns 0, or the status of the first failure, as `muster run` does.
int exit_status_of(json::value const& program);

}  // namespace muster::cli
