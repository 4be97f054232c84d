// A private certificate authority in a directory, and the certificates that it issues: ca.pem and
// ca.key, NAME.pem and NAME.key. Keys are of the curve P-256, in files that only their owner reads.
// Any thread; no two at a time in one directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace muster::cli {

constexpr unsigned certificate_days_max = 36'500;

struct certificate_request {
  std::string name;                // of the files, and the common name
  std::vector<std::string> hosts;  // DNS names and addresses that it is for; empty: a client's
  unsigned days = 365;             // no longer than the authority's own
};

bool has_authority(std::filesystem::path const& directory);

/// Makes the directory where it is not there. FAILED_PRECONDITION: there is an authority, or a part
/// of one, or what the system says of a file.
muster::status make_authority(std::filesystem::path const& directory, unsigned days);

/// Replaces what has the name, key and certificate each by renaming. INVALID_ARGUMENT: the name or
/// a host. FAILED_PRECONDITION: the authority cannot be read or has expired, or what the system
/// says of a file.
muster::status issue(std::filesystem::path const& directory, certificate_request const& r);

/// localhost and its addresses, and this machine's name.
std::vector<std::string> default_hosts();

}  // namespace muster::cli
