// Verbs for whoever looks after servers and machines; see cli/command.hpp for the others.
#pragma once

#include "cli/command.hpp"

namespace muster::cli {

void add_doctor(CLI::App& app, choice& chosen);
void add_top(CLI::App& app, choice& chosen);
void add_completion(CLI::App& app, choice& chosen);
void add_man(CLI::App& app, choice& chosen);

}  // namespace muster::cli
