// Where a setting comes from: flag, else environment, else configuration file, else default.
//
// `--ready-file` of `muster serve` is MUSTER_SERVE_READY_FILE or, for every verb that has the flag,
// MUSTER_READY_FILE in the environment; in the file it is `ready-file` under [serve], or at the top
// for every verb. --cluster and --task are not the same to all verbs, so their common variables are
// left alone where they mean something else. A verb's own verbs (`bench kv`) have its section and
// variables: MUSTER_BENCH_SECONDS.
// CLI11's own order puts the file before the environment, hence this.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace muster::cli {

/// Gives every verb of `app` (all must be added) a --config, and completes it from the environment
/// and that file once its flags are known.
void install_settings(CLI::App& app);

/// The verb's settings as a [verb] section for a configuration file, each with its origin.
std::string settings_of(CLI::App const& verb);

}  // namespace muster::cli
