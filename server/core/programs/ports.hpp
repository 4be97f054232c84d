// Ports that ranks listen at. The server chooses them, so that all ranks know them before any has
// started. They are told apart by the address of the machine: two workers there share its ports.
//
// Owned by the controller. Limit: the ranges that workers offer, 64 Ki ports an address.
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
  /// `rest`: a port is not given again for so long after it was given back.
  explicit port_table(duration rest) : rest_(rest) {}

  /// None: all of the range are taken, or rest. REQUIRES: first <= last.
  std::optional<std::uint16_t> take(std::string const& address, std::uint16_t first,
                                    std::uint16_t last, time_point now);
  /// So many could be taken; counted no further than `enough`.
  std::size_t available(std::string const& address, std::uint16_t first, std::uint16_t last,
                        time_point now, std::size_t enough);
  /// It is in use already, by a rank of an earlier process of this server.
  void claim(std::string const& address, std::uint16_t port) {
    machines_[address].until[port] = never;
  }
  void give_back(std::string const& address, std::uint16_t port, time_point now);
  bool in_use(std::string const& address, std::uint16_t port) const;

 private:
  struct machine {
    std::map<std::uint16_t, time_point> until;  // never: in use; else when its rest is over
    std::uint16_t last = 0;                     // given
  };
  void forget_rested(std::string const& address, time_point now);

  duration const rest_;
  std::map<std::string, machine> machines_;
};

}  // namespace muster::core::programs
