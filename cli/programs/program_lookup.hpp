// Programs as the server tells of them, for verbs: how one is found and what is said of it. Main
// thread.
#pragma once

#include <string>
#include <vector>

#include "cli/rest.hpp"

namespace muster::cli {

/// "/api/v1/programs/ID" of a program by its name or its id; of several with the name the newest.
/// Errors: as of find_target.
std::string path_of_program(rest& server, std::string const& name_or_id);

/// Returns "rank 3", or "rank 3 (ps:0)" where its task is not worker:3. Without a number the task.
std::string rank_label_of(json::value const& rank, char const* number = "rank",
                          char const* task = "task");

/// Sentences about workers that are lost and may still run ranks of it.
std::vector<std::string> losses_of(json::value const& program);

/// The ranks of its last attempt, by number.
json::array ranks_of(rest& server, std::string const& path);

/// How many of them began without `preload`, and why the first. Empty: none.
std::string without_preload(json::array const& ranks);

bool has_ended(json::value const& program);
/// "train (prog_0000000000000001)".
std::string title_of(json::value const& program);
/// Why it ended as it did, with the last lines on stderr: several lines. Empty: nothing went wrong.
std::string cause_of(json::value const& program);
/// What a verb that waited for it ends with: 0, or the first failure's own, as `muster run` does.
int exit_status_of(json::value const& program);

}  // namespace muster::cli
