// The `sitecustomize` that Python processes of ranks run before their program.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace muster {

/// Returns the module. It runs `first` (Python code), offers JAX a cluster to detect, so that
/// jax.distributed.initialize() needs no arguments, and runs the user's own sitecustomize at last.
/// It fails and prints in no case, and imports nothing that the program does not import.
std::string python_site(std::string_view first = {});

/// Writes the module into `directory`, which is to be the first one of PYTHONPATH. Returns its
/// file. Errors: std::system_error.
std::filesystem::path write_python_site(std::filesystem::path const& directory,
                                        std::string_view first = {});

}  // namespace muster
