// The kinds of resolvers that the command line knows, and how a fault of one ends a verb.
#pragma once

#include <string>

#include "cli/command.hpp"
#include "muster/make_resolver.hpp"

namespace muster::cli {

/// All of them: the local ones, and each other library's.
resolver_kinds const& known_resolvers();
/// Made from its text. command_error (usage), `flag` in front.
std::shared_ptr<cluster_resolver> make_known_resolver(std::string const& flag,
                                                      std::string const& text);

/// 2 for what is malformed, 3 when nobody answers, else 1.
exit_status status_of(cluster_error const& e);

/// The kinds with their keys, for the end of a help text.
std::string resolvers_help();

}  // namespace muster::cli
