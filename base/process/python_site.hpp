// The `sitecustomize` module that Python ranks run before their program.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace muster {

/// Returns the module's source. The module runs `first` (Python code) and registers a cluster that
/// JAX can detect, so that jax.distributed.initialize() needs no arguments. Finally it runs the
/// user's own sitecustomize. It never fails or prints, and imports nothing that the program does
/// not import.
std::string python_site(std::string_view first = {});

/// Writes the module into `directory`, which must be the first entry of PYTHONPATH. @throws
/// std::system_error
std::filesystem::path write_python_site(std::filesystem::path const& directory,
                                        std::string_view first = {});

}  // namespace muster
