// What the server says of a member of a request, told of the flag that it came from. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace muster::cli {

/// "tasks.worker.resources.gpu: expected 1" of `field` becomes "--resource gpu: expected 1" where
/// the verb has that flag; anything else stays as it is.
std::string with_flags(CLI::App const& verb, std::string const& text, std::string const& field);

}  // namespace muster::cli
