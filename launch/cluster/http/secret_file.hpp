// Reads files that a platform provides to a program, such as tokens and names. Thread-safe.
#pragma once

#include <string>

#include "muster/cluster_error.hpp"

namespace muster::cluster {

constexpr std::size_t secret_bytes_max = 1024 * 1024;

/// Returns the content without surrounding blanks. Error messages never contain the content.
/// @param kind error code if the file cannot be read, is empty, is too long or has several lines
/// @param remedy end of the error message
std::string read_secret(std::string const& path, cluster_error::code kind,
                        std::string const& remedy);

}  // namespace muster::cluster
