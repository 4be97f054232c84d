// Scripts that make a shell complete `muster …`: verbs, flags, choices of flags, files. Ids are the
// server's and completed by nobody. Pure.
#pragma once

#include <string>

#include "cli/tree/tree.hpp"

namespace muster::cli {

std::string bash_completion(known_verb const& top);
std::string zsh_completion(known_verb const& top);
std::string fish_completion(known_verb const& top);

}  // namespace muster::cli
