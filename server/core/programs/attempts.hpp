// The bodily side of attempts: ranks get resources and ports, are ordered to start and to stop, and
// give everything back when they are dead. What follows from that for the program: course.hpp.
//
// Owned by the controller, used within a step.
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
  /// All outlive it.
  attempts(program_limits const& limits, host_table& hosts, port_table& ports, ledger& resources,
           output& out)
      : limits_(limits), hosts_(hosts), ports_(ports), ledger_(resources), out_(out) {}

  /// The next attempt of the program. `where[i].host` is a position in `on`. False: a host has too
  /// few ports, nothing has changed. REQUIRES: nothing of the last one is alive, and the hosts are
  /// attached and have the resources.
  bool begin(program& p, placement const& where, std::vector<host_number> const& on,
             time_point now);
  /// Beside that of each rank, the worker of the first gives so many ports.
  static constexpr std::uint32_t ports_of_first = 2;
  /// So many ports of the host's could be given now, `enough` at most.
  std::size_t ports_free(host const& h, time_point now, std::size_t enough) {
    return ports_.available(h.address, h.first_port, h.last_port, now, enough);
  }
  /// All that are alive are asked to end, and killed after the grace.
  void stop(program& p, duration grace);
  /// REQUIRES (all below): the rank is alive.
  void started(program& p, std::uint32_t rank, std::uint32_t pid, time_point now);
  void dead(program& p, std::uint32_t rank, rank_end const& how, time_point now);
  /// A rank that is alive as far as anybody knows, of a worker that has been away for a while;
  /// none: all are in sight.
  std::optional<std::uint32_t> out_of_reach(program const& p, time_point now) const;
  /// The stream of its worker has ended.
  void out_of_sight(program& p, std::uint32_t rank) { p.now.ranks[rank].taken = false; }
  /// Its worker has come back. False: it has not the resources any more.
  bool take_again(program& p, std::uint32_t rank);
  void order_again(program& p, std::uint32_t rank);
  /// This one is asked to end, as stop() has asked all.
  void stop_again(program& p, std::uint32_t rank, time_point now);
  /// The last attempt of a program of an earlier process: its ranks are those of workers that are
  /// away. REQUIRES: p is as it was but for its ranks.
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
