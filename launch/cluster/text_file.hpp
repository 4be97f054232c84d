// Reads a small file that somebody named on a command line.
#pragma once

#include <filesystem>
#include <string>

namespace muster::cluster {

/// At most json_bytes_max. missing, denied or invalid, naming the file.
std::string read_text_file(std::filesystem::path const& file);

}  // namespace muster::cluster
