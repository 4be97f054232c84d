// Times in readable form, in this machine's time zone. Ages such as "10m" are relative to the
// server's clock.
#pragma once

#include <cstdint>
#include <string>

#include "cli/rest.hpp"

namespace muster::cli {

std::string local_time(std::int64_t ms);

/// Returns Unix ms. Accepts an age ("10m"), the most recent "03:12" or "03:12:05",
/// "2026-11-27T03:12:05" with optional seconds and Z (UTC), and Unix ms.
/// @throws command_error (usage) whose message names the flag
std::int64_t moment(rest& server, std::string const& flag, std::string const& text);

struct time_range {
  std::string from, to;
  bool given() const { return !from.empty() || !to.empty(); }
  /// Returns "from_ms=…&to_ms=…&", without missing parts.
  std::string query(rest& server) const;
};
void add_time_range(CLI::App& verb, time_range& range, std::string const& what);

}  // namespace muster::cli
