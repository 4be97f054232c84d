// Replaces member names by flags in the server's messages. Pure functions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace muster::cli {

/// Converts "tasks.worker.resources.gpu: expected 1" about `field` to "--resource gpu: expected 1"
/// if the command has this flag. Returns any other text unchanged.
std::string with_flags(CLI::App const& verb, std::string const& text, std::string const& field);

}  // namespace muster::cli
