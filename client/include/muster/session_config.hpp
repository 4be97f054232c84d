// Settings that a strategy passes to sessions and servers.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

namespace muster {

/// Settings that a strategy passes to sessions and servers. The library merges, transmits and logs
/// these settings, but only the strategy's code interprets them.
struct session_config {
  /// Settings by name.
  boost::json::object settings{};
  /// Visible devices, for example "/job:ps"; if empty, all devices.
  std::vector<std::string> device_filters{};
  /// Device that leads collective operations; can be empty.
  std::string collective_group_leader{};

  /// Merges another configuration into this one. The other configuration's settings and its leader,
  /// unless empty, take precedence. Nested objects are merged by key, and filters are appended.
  /// @param other  the other configuration
  void merge(session_config const& other);

  /// Returns the default configuration, which allows soft placement.
  static session_config default_config() { return {{{"allow_soft_placement", true}}, {}, {}}; }
  /// Returns default_config().
  [[deprecated("use default_config")]] static session_config usual() { return default_config(); }

  /// Compares all fields.
  bool operator==(session_config const&) const = default;
};

}  // namespace muster
