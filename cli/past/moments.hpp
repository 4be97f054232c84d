// Times as people write and read them. Of the clock of this machine, but for "how long ago", which
// is by the server's.
#pragma once

#include <cstdint>
#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// "2026-11-27 03:12:05"
std::string local_time(std::int64_t ms);

/// Unix ms of "10m" (ago), "03:12" or "03:12:05" (the last one that was), "2026-11-27T03:12:05" or
/// without seconds, with Z of UTC, or of Unix ms. command_error (usage) names the flag.
std::int64_t moment(rest& server, std::string const& flag, std::string const& text);

/// From when to when.
struct time_range {
  std::string from, to;
  bool given() const { return !from.empty() || !to.empty(); }
  /// "from_ms=…&to_ms=…&", without what is not given.
  std::string query(rest& server) const;
};
/// Adds --from and --to.
void add_time_range(CLI::App& verb, time_range& range, std::string const& what);

}  // namespace muster::cli
