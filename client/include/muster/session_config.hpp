// Settings that a strategy makes for a session or a server. They are merged, carried and logged;
// what they mean is for the strategy's own code. A value.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

namespace muster {

struct session_config {
  boost::json::object settings{};
  /// Devices that may be seen, e.g. "/job:ps"; empty: all.
  std::vector<std::string> device_filters{};
  std::string collective_group_leader{};

  /// What `other` has wins: its settings (objects within each other by key), its leader unless
  /// empty; its filters come behind.
  void merge(session_config const& other);

  /// What is taken when nobody gives one: soft placement is allowed.
  static session_config usual() { return {{{"allow_soft_placement", true}}, {}, {}}; }

  bool operator==(session_config const&) const = default;
};

}  // namespace muster
