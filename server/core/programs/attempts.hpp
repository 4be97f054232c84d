// Assigns resources and ports to ranks, orders their start and stop, and frees everything when the
// ranks are dead. Owned by the controller.
#pragma once

#include <optional>

#include "server/core/programs/controller_output.hpp"
#include "server/core/programs/hosts.hpp"
#include "server/core/programs/ledger.hpp"
#include "server/core/programs/placement.hpp"
#include "server/core/programs/ports.hpp"
#include "server/core/programs/program.hpp"

namespace muster::core::programs {

class attempts {
 public:
  attempts(program_limits const& limits, host_table& hosts, port_table& ports, ledger& resources,
           output& out)
      : limits_(limits), hosts_(hosts), ports_(ports), ledger_(resources), out_(out) {}

  /// Begins an attempt. Returns false and changes nothing if a host has too few ports.
  /// `where.ranks[i].host` is an index into `on`. REQUIRES: no rank of the last attempt is alive;
  /// the hosts are connected and have the resources.
  bool begin(program& p, placement const& where, std::vector<host_number> const& on,
             time_point now);
  /// Number of additional ports on the worker of the first rank.
  static constexpr std::uint32_t ports_of_first = 2;
  std::size_t ports_free(host const& h, time_point now, std::size_t enough) {
    return ports_.available(h.address, h.first_port, h.last_port, now, enough);
  }
  /// Asks all living ranks to end. Ranks that continue to run are killed after the grace period.
  void stop(program& p, duration grace);
  /// REQUIRES (also for all functions below): the rank is alive.
  void started(program& p, std::uint32_t rank, std::uint32_t pid, time_point now);
  void dead(program& p, std::uint32_t rank, rank_end const& how, time_point now);
  /// Within this time, a worker has usually replaced a broken stream.
  static constexpr duration reconnect_time = std::chrono::seconds(1);
  /// Returns a rank, if any, that is not known to be dead and whose worker has been disconnected
  /// since `then` or longer.
  std::optional<std::uint32_t> out_of_reach(program const& p, time_point then) const;
  void rank_disconnected(program& p, std::uint32_t rank) { p.now.ranks[rank].taken = false; }
  /// Reserves the rank's resources again after its worker has reconnected. Returns false if the
  /// worker lacks the resources.
  bool retake_resources(program& p, std::uint32_t rank);
  void order_again(program& p, std::uint32_t rank);
  void stop_again(program& p, std::uint32_t rank, time_point now);
  /// Restores the last attempt from an earlier process, with all its workers disconnected.
  /// REQUIRES: `p` is restored except for its ranks.
  void restore(program& p, placement_fact const& where, std::vector<rank_fact> const& ended,
               time_point now);

 private:
  void keep(program& p);
  bool ports_for(placement const& where, std::vector<host_number> const& on, time_point now);
  std::string address(attempt& a, host const& h, std::uint16_t* port, time_point now);
  named_amounts const& needs(program const& p, std::uint32_t rank) const {
    return p.spec->tasks[p.now.ranks[rank].group].resources;
  }

  program_limits const& limits_;
  host_table& hosts_;
  port_table& ports_;
  ledger& ledger_;
  output& out_;
};

}  // namespace muster::core::programs
