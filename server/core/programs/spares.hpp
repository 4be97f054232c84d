// Spares: places that a running program reserves, so that its next attempt can start immediately
// after the loss of a host. Spares are for the type with the most tasks, preferably on workers
// without ranks of the program. Waiting programs take precedence. Owned by the controller.
#pragma once

#include <set>

#include "server/core/programs/controller_output.hpp"
#include "server/core/programs/fleet.hpp"
#include "server/core/programs/program_table.hpp"

namespace muster::core::programs {

class spares {
 public:
  spares(program_limits const& limits, program_table& table, host_table& hosts, ledger& resources,
         output& out)
      : limits_(limits), table_(table), hosts_(hosts), ledger_(resources), out_(out) {}

  /// Records that the program has begun an attempt.
  void want(program const& p) {
    if (p.spec->spares > 0) wanting_.insert(p.id);
  }
  void drop_ended();
  /// Reserves missing spares of running programs where capacity permits.
  void keep(time_point now);
  std::size_t count() const;
  void release(program& p);
  void lost(stream_id worker);

 private:
  void fill(program& p, time_point now);
  void put_by(program& p, stream_id worker);
  std::uint32_t left(program const& p, host_number n) const;

  program_limits const& limits_;
  program_table& table_;
  host_table& hosts_;
  ledger& ledger_;
  output& out_;
  std::set<program_id> wanting_;
};

}  // namespace muster::core::programs
