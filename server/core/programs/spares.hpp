// Spares: places that a running program reserves, so that its next attempt can start at once when a
// host is lost. They are for the type with the most tasks, preferably on workers without its ranks.
// These workers get the program's upload. Waiting programs take precedence.
//
// Owned by the controller, used at the end of a step. Limit: program_limits::spares_max per
// program.
#pragma once

#include <set>

#include "server/core/programs/controller_output.hpp"
#include "server/core/programs/fleet.hpp"
#include "server/core/programs/program_table.hpp"

namespace muster::core::programs {

class spares {
 public:
  /// All references must outlive this object.
  spares(program_limits const& limits, program_table& table, host_table& hosts, ledger& resources,
         output& out)
      : limits_(limits), table_(table), hosts_(hosts), ledger_(resources), out_(out) {}

  /// Records that the program has begun an attempt.
  void want(program const& p) {
    if (p.spec->spares > 0) wanting_.insert(p.id);
  }
  void drop_ended();
  /// Reserves missing spares of running programs, as far as they fit.
  void keep(time_point now);
  std::size_t count() const;
  /// Frees the spares for the program's next attempt.
  void release(program& p);
  /// Drops the spares on a worker whose stream has ended.
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
