// Finds programs on the server and describes them. Used on the main thread.
#pragma once

#include <string>
#include <vector>

#include "cli/rest.hpp"

namespace muster::cli {

/// Returns "/api/v1/programs/ID" of the program with this ID, or of the newest program with this
/// name. Throws the same errors as find_target().
std::string path_of_program(rest& server, std::string const& name_or_id);

/// Returns "rank 3", or "rank 3 (ps:0)" if its task is not worker:3. Without a number, returns the
/// task.
std::string rank_label_of(json::value const& rank, char const* number = "rank",
                          char const* task = "task");

/// Returns sentences about lost workers that may still be running ranks.
std::vector<std::string> losses_of(json::value const& program);

json::array ranks_of(rest& server, std::string const& path);

/// Returns how many ranks started without `preload`, and the first reason; can be empty.
std::string without_preload(json::array const& ranks);

bool has_ended(json::value const& program);
std::string title_of(json::value const& program);
/// Returns why the program failed, with the last lines on stderr; can be empty.
std::string cause_of(json::value const& program);
/// Returns 0, or the status of the first failure, as `muster run` does.
int exit_status_of(json::value const& program);

}  // namespace muster::cli
