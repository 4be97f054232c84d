// A private certificate authority in a directory: ca.pem and ca.key, and NAME.pem and NAME.key for
// each issued certificate. Keys use the curve P-256; only their owner can read them. Thread-safe
// for different directories.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace muster::cli {

constexpr unsigned certificate_days_max = 36'500;

struct certificate_request {
  std::string name;  // file name and common name
  // DNS names and addresses of the certificate; empty for a client certificate.
  std::vector<std::string> hosts;
  unsigned days = 365;  // no longer than the authority's own validity
};

bool has_authority(std::filesystem::path const& directory);

/// Creates the directory if necessary. Returns FAILED_PRECONDITION if a part of an authority
/// exists, or the system's error if a file operation fails.
muster::status make_authority(std::filesystem::path const& directory, unsigned days);

/// Issues a certificate, and atomically replaces a key and a certificate with the same name.
/// Returns INVALID_ARGUMENT if the name or a host is invalid. Returns FAILED_PRECONDITION if the
/// authority has expired or cannot be read, or the system's error if a file operation fails.
muster::status issue(std::filesystem::path const& directory, certificate_request const& r);

std::vector<std::string> default_hosts();

}  // namespace muster::cli
