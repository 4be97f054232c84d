// Finds an object on the server from a command-line argument, which can be an ID, JOB:INDEX, or a
// name. Used on the main thread.
#pragma once

#include <initializer_list>
#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

enum class target { closure, value, job, program, object, dataset, per_worker, task };

struct found_target {
  target kind;
  std::string id;  // "job_…"; the ID as given for an object; "worker:3" for a task
  std::string path{};
  bool by_name = false;
};

struct target_options {
  std::string cluster{};  // empty for the main cluster
  bool live = false;      // if true, only unfinished objects
};

/// Finds the object among these kinds. If several programs have the name, returns the newest and
/// prints its ID to stderr. @throws command_error (usage) if the word is an ID of another kind or
/// an ambiguous name; the message lists the IDs @throws command_error (failed) if there is no such
/// object
found_target find_target(rest& server, std::string const& word, std::initializer_list<target> kinds,
                         target_options const& o = {});

std::string target_words(std::initializer_list<target> kinds);

}  // namespace muster::cli
