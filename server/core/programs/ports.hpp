// Ports on which ranks listen. The server assigns them, so that all ranks know them before they
// start. Workers on the same machine share its ports.
//
// Owned by the controller. Contains at most 65,536 ports per address.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/time.hpp"

namespace muster::core::programs {

class port_table {
 public:
  /// `rest` is the time until a released port can be assigned again.
  explicit port_table(duration rest) : rest_(rest) {}

  /// Assigns a port. Returns nothing if all ports in the range are in use or resting. REQUIRES:
  /// first <= last.
  std::optional<std::uint16_t> take(std::string const& address, std::uint16_t first,
                                    std::uint16_t last, time_point now);
  /// Returns the number of free ports, but at most `enough`.
  std::size_t available(std::string const& address, std::uint16_t first, std::uint16_t last,
                        time_point now, std::size_t enough);
  /// Marks a port that a rank of an earlier process uses.
  void claim(std::string const& address, std::uint16_t port) {
    machines_[address].until[port] = never;
  }
  void give_back(std::string const& address, std::uint16_t port, time_point now);
  bool in_use(std::string const& address, std::uint16_t port) const;

 private:
  struct machine {
    // `never` while in use; otherwise the end of the rest period.
    std::map<std::uint16_t, time_point> until;
    std::uint16_t last = 0;
  };
  void forget_rested(std::string const& address, time_point now);

  duration const rest_;
  std::map<std::string, machine> machines_;
};

}  // namespace muster::core::programs
