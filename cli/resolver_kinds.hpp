// The resolver kinds of the command line, and the exit statuses of their errors.
#pragma once

#include <string>

#include "cli/command.hpp"
#include "muster/make_resolver.hpp"

namespace muster::cli {

/// Includes the kinds of optional libraries.
resolver_kinds const& known_resolvers();
/// @throws command_error (usage) whose message begins with `flag`
std::shared_ptr<cluster_resolver> make_known_resolver(std::string const& flag,
                                                      std::string const& text);

/// Returns 2 for invalid input, 3 if no service answers, and otherwise 1.
exit_status status_of(cluster_error const& e);

/// Returns the kinds with their keys, for the end of a help text.
std::string resolvers_help();

}  // namespace muster::cli
