// Precedence of settings: flag, then environment, then configuration file, then default.
//
// `--ready-file` of `muster serve` is MUSTER_SERVE_READY_FILE in the environment; MUSTER_READY_FILE
// applies to every command that has the flag. In the file it is `ready-file` under [serve], or at
// the top for all commands. Commands in which --cluster or --task has another meaning ignore the
// common variable. Subcommands (`bench kv`) use the section and variables of their command:
// MUSTER_BENCH_SECONDS. This order replaces CLI11's order, in which the file precedes the
// environment.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace muster::cli {

/// Adds --config to all commands of `app`, and fills unset flags from the environment and the
/// configuration file. Call this after all commands were added.
void install_settings(CLI::App& app);

/// Returns the settings as a section of a configuration file, each with its origin.
std::string settings_of(CLI::App const& verb);

}  // namespace muster::cli
