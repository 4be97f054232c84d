// Files that a platform gives to a program: tokens, names. Any thread.
#pragma once

#include <string>

#include "muster/cluster_error.hpp"

namespace muster::cluster {

/// Bytes of such a file.
constexpr std::size_t secret_bytes_max = 1024 * 1024;

/// Without the blanks around it. An error of `kind`: it cannot be read, is empty, longer than the
/// limit or of several lines; `remedy` ends the line. What is in it is never shown.
std::string read_secret(std::string const& path, cluster_error::code kind,
                        std::string const& remedy);

}  // namespace muster::cluster
