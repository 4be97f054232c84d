// What `muster doctor` looks at on this machine and on the network. One thread; each look at
// another machine ends after `patience`. Nothing is changed.
#pragma once

#include <chrono>
#include <string>

#include "cli/doctor/finding.hpp"

namespace muster::cli::doctor {

constexpr std::chrono::seconds patience{3};

/// Whether a TCP connection to HOST:PORT comes about; else why not. `what`: "gRPC of cluster
/// train".
finding look_at_address(std::string const& what, std::string const& address);
/// Whether a server could listen there.
finding look_at_free_port(std::string const& address);
finding look_at_files();
/// Variables that TensorFlow's coordinator reads and Muster does not.
findings look_at_foreign_names();
/// A directory, or the nearest one above it that is there.
finding look_at_disk(std::string const& path);
/// Each certificate of a PEM file.
findings look_at_certificates(std::string const& file);
/// What a server at an https:// URL shows, whether it can be trusted or not.
findings look_at_https(std::string const& url);

}  // namespace muster::cli::doctor
