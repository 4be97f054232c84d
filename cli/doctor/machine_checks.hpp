// Checks of this machine and the network for `muster doctor`, which change nothing. Not
// thread-safe. Each network check ends after `patience`.
#pragma once

#include <chrono>
#include <string>

#include "cli/doctor/finding.hpp"

namespace muster::cli::doctor {

constexpr std::chrono::seconds patience{3};

/// `address` is HOST:PORT. `what` is for example "gRPC of cluster train".
finding probe_address(std::string const& what, std::string const& address);
finding check_free_port(std::string const& address);
finding check_files();
/// Reports variables that TensorFlow's coordinator reads and Muster ignores.
findings check_foreign_names();
/// Checks the directory or its nearest existing parent.
finding check_disk(std::string const& path);
findings check_certificates(std::string const& file);
/// Checks a server's certificates at an https:// URL, even if they are not trusted.
findings check_https(std::string const& url);

}  // namespace muster::cli::doctor
