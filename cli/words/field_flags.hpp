// Rewrites the server's messages about members of a request to name the flag. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace muster::cli {

/// Rewrites "tasks.worker.resources.gpu: expected 1" about `field` to "--resource gpu: expected 1"
/// if the command has that flag. Returns any other text unchanged.
std::string with_flags(CLI::App const& verb, std::string const& text, std::string const& field);

}  // namespace muster::cli
