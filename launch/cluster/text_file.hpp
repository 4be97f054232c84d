// Reads small files from paths on the command line.
#pragma once

#include <filesystem>
#include <string>

namespace muster::cluster {

/// Returns the content, at most json_bytes_max bytes.
/// @throws cluster_error (missing, denied or invalid) with a message that names the file
std::string read_text_file(std::filesystem::path const& file);

}  // namespace muster::cluster
