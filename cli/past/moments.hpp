// Points in time as people write and read them, by this machine's clock; ages ("10m") by the
// server's.
#pragma once

#include <cstdint>
#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

/// Returns "2026-11-27 03:12:05".
std::string local_time(std::int64_t ms);

/// Returns Unix ms. Accepts an age "10m", a time of day "03:12" or "03:12:05" (the most recent),
/// "2026-11-27T03:12:05" or without seconds (Z: UTC), and Unix ms.
/// @throws command_error (usage) that names the flag.
std::int64_t moment(rest& server, std::string const& flag, std::string const& text);

struct time_range {
  std::string from, to;
  bool given() const { return !from.empty() || !to.empty(); }
  /// Returns "from_ms=…&to_ms=…&", without missing parts.
  std::string query(rest& server) const;
};
/// Adds --from and --to.
void add_time_range(CLI::App& verb, time_range& range, std::string const& what);

}  // namespace muster::cli
