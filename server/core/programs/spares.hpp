// Spares: places for further tasks that a program which runs has put by, so that its next attempt
// finds room at once when a host is lost. They are of the type with the most tasks, on workers that
// run none of its ranks where there are such, and these workers get its upload. They come after
// programs that wait: what is free and nobody waits for is taken for them.
//
// Owned by the controller, used at the end of a step. Limit: program_limits::spares_max a program.
#pragma once

#include <set>

#include "server/core/programs/controller_output.hpp"
#include "server/core/programs/fleet.hpp"
#include "server/core/programs/program_table.hpp"

namespace muster::core::programs {

class spares {
 public:
  /// All outlive it.
  spares(program_limits const& limits, program_table& table, host_table& hosts, ledger& resources,
         output& out)
      : limits_(limits), table_(table), hosts_(hosts), ledger_(resources), out_(out) {}

  /// It has begun an attempt.
  void want(program const& p) {
    if (p.spec->spares > 0) wanting_.insert(p.id);
  }
  /// Those of programs that have ended are given back.
  void drop_ended();
  /// As many as are missing and fit, of all that run.
  void keep(time_point now);
  /// That are put by now.
  std::size_t count() const;
  /// For its own next attempt.
  void release(program& p);
  /// The worker's stream has ended, and with it what was put by there.
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
