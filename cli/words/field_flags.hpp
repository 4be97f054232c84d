// Rewrites the server's messages about members of a request to name the flag. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace muster::cli {

/// Turns "tasks.worker.resources.gpu: expected 1" about `field` into "--resource gpu: expected 1"
/// if the command has the flag. Returns other text unchanged.
std::string with_flags(CLI::App const& verb, std::string const& text, std::string const& field);

}  // namespace muster::cli
