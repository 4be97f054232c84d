// The checks of `muster doctor` on this machine and on the network. They change nothing. One
// thread; each network check ends after `patience`.
#pragma once

#include <chrono>
#include <string>

#include "cli/doctor/finding.hpp"

namespace muster::cli::doctor {

constexpr std::chrono::seconds patience{3};

/// Checks that a TCP connection to HOST:PORT succeeds. `what` is a description such as "gRPC of
/// cluster train".
finding look_at_address(std::string const& what, std::string const& address);
/// Checks that a server could listen on the address.
finding look_at_free_port(std::string const& address);
finding look_at_files();
/// Reports variables that TensorFlow's coordinator reads and Muster ignores.
findings look_at_foreign_names();
/// Checks a directory, or its nearest existing parent.
finding look_at_disk(std::string const& path);
/// Checks each certificate of a PEM file.
findings look_at_certificates(std::string const& file);
/// Checks the certificates of a server at an https:// URL, trusted or not.
findings look_at_https(std::string const& url);

}  // namespace muster::cli::doctor
