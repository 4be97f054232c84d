// Finds the object that an argument names: by id, as JOB:INDEX, or by name on the server. Main
// thread.
#pragma once

#include <initializer_list>
#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

enum class target { closure, value, job, program, object, dataset, per_worker, task };

struct found_target {
  target kind;
  std::string id;      // "job_…"; for an object, as it was given; for a task "worker:3"
  std::string path{};  // "/api/v1/jobs/job_…"
  bool by_name = false;
};

struct target_options {
  std::string cluster{};  // empty: the main cluster
  bool live = false;      // consider only those that have not ended
};

/// Finds what `word` names among these kinds. Of several programs with the name, returns the newest
/// and prints its id on stderr.
/// @throws command_error (usage) for an id of another kind, and for an ambiguous name, with the
/// ids.
/// @throws command_error (failed) if there is none.
found_target find_target(rest& server, std::string const& word, std::initializer_list<target> kinds,
                         target_options const& o = {});

/// Returns "CLOSURE_ID|JOB|PROGRAM".
std::string target_words(std::initializer_list<target> kinds);

}  // namespace muster::cli
