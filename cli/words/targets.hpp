// What a word of the command line names: by its id, as JOB:INDEX, or by its name at the server.
// Main thread.
#pragma once

#include <initializer_list>
#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

enum class target { closure, value, job, program, object, dataset, per_worker, task };

struct found_target {
  target kind;
  std::string id;        // "job_…"; of an object, as it was given; of a task "worker:3"
  std::string path{};    // "/api/v1/jobs/job_…"
  bool by_name = false;  // it was not given as an id
};

struct target_options {
  std::string cluster{};  // empty: the main one
  bool live = false;      // if there are several, those that have not ended are meant
};

/// Finds what `word` names among the kinds that the verb takes. Of several programs with the name
/// the newest, which is said on stderr. Errors: command_error (usage), for an id of another kind
/// and for a name of several things, which lists their ids; command_error (failed), if there is
/// none.
found_target find_target(rest& server, std::string const& word, std::initializer_list<target> kinds,
                         target_options const& o = {});

/// Says what find_target() takes: "CLOSURE_ID|JOB|PROGRAM".
std::string target_words(std::initializer_list<target> kinds);

}  // namespace muster::cli
