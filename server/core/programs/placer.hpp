// Finds workers for waiting programs, by priority and then by turn (see shares.hpp).
//
// Resources that become free are reserved for the first program that fits only on idle workers.
// Otherwise, closures and other programs could starve it. At most one program has a reservation,
// because two large programs would wait for each other forever.
//
// Owned by the controller.
#pragma once

#include <algorithm>
#include <vector>

#include "server/core/programs/attempts.hpp"
#include "server/core/programs/course.hpp"
#include "server/core/programs/program_table.hpp"
#include "server/core/programs/spares.hpp"

namespace muster::core::programs {

class placer {
 public:
  placer(program_limits const& limits, program_table& table, host_table& hosts, attempts& bodies,
         course& what_follows, ledger& resources, output& out)
      : limits_(limits),
        table_(table),
        hosts_(hosts),
        attempts_(bodies),
        course_(what_follows),
        ledger_(resources),
        spares_(limits, table, hosts, resources, out) {}

  /// Requests a new search after a change that the ledger's version does not show.
  void look_again() { search_requested_ = true; }
  void place(time_point now);
  void drop_ended() { spares_.drop_ended(); }
  void restored(program const& p) { spares_.want(p); }
  void worker_disconnected(stream_id worker) { spares_.lost(worker); }
  /// Returns when place() must be called again.
  time_point due() const { return std::min(due_, wake_); }

  struct put_by {
    stream_id worker{};
    named_amounts amounts;
    named_amounts missing;
  };
  std::vector<put_by> const& reserved() const { return reserved_; }
  program_id reserved_for() const { return reserved_for_; }
  std::size_t spare_places() const { return spares_.count(); }

 private:
  fleet collect_fleet(program const& p, time_point now, fleet::amounts which, bool avoid,
                      std::uint32_t more_ports = 0) const;
  bool start(program& p, time_point now);
  bool start_on(program& p, time_point now, bool avoid);
  void reserve(program const& p, time_point now);
  void top_up();
  void note_times(std::vector<program*> const& waiting, time_point now);
  void release();

  /// Maximum number of failed placements per search: for the first program, then for other programs
  /// in turn.
  static constexpr std::size_t tries_max = 16;
  /// Pause after an unsuccessful search, because a search visits all workers.
  static constexpr duration search_interval = std::chrono::milliseconds(10);
  /// Interval at which resting ports are checked again.
  static constexpr duration port_retry_interval = std::chrono::seconds(1);
  program_limits const& limits_;
  program_table& table_;
  host_table& hosts_;
  attempts& attempts_;
  course& course_;
  ledger& ledger_;
  spares spares_;
  std::vector<put_by> reserved_;
  program_id reserved_for_{};
  std::size_t turn_ = 0;  // next program to try after the first program
  std::size_t left_ = 0;  // number of programs not tried since the last change
  bool search_requested_ = false;
  std::uint64_t seen_ = 0;
  time_point next_check_at_{};
  time_point due_ = never;
  time_point wake_ = never;  // end of a pause, or time of the next port check
};

}  // namespace muster::core::programs
