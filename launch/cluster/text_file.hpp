// Reads small files from paths on the command line.
#pragma once

#include <filesystem>
#include <string>

namespace muster::cluster {

/// Reads at most json_bytes_max.
/// @throws cluster_error missing, denied or invalid; the message names the file
std::string read_text_file(std::filesystem::path const& file);

}  // namespace muster::cluster
