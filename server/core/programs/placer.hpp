// Finds workers for programs that wait, the oldest of the highest priority first.
//
// The first that does not fit now, and would if the workers did nothing else, has resources put by
// for it as they become free, worker by worker, so neither closures nor other programs starve it.
// One program at most has something put by: two that need more than half each would wait for each
// other for ever.
//
// Owned by the controller, used at the end of a step.
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
  /// All outlive it.
  placer(program_limits const& limits, program_table& table, host_table& hosts, attempts& bodies,
         course& what_follows, ledger& resources, output& out)
      : limits_(limits),
        table_(table),
        hosts_(hosts),
        attempts_(bodies),
        course_(what_follows),
        ledger_(resources),
        spares_(limits, table, hosts, resources, out) {}

  /// Something has changed beside what the ledger's version tells.
  void look_again() { asked_ = true; }
  /// Starts what can start.
  void place(time_point now);
  /// A program may have ended.
  void drop_ended() { spares_.drop_ended(); }
  /// It goes on from an earlier process of the server.
  void restored(program const& p) { spares_.want(p); }
  /// The worker's stream has ended.
  void away(stream_id worker) { spares_.lost(worker); }
  /// When it is to be called again.
  time_point due() const { return std::min(due_, wake_); }

  /// What has been put by.
  struct put_by {
    stream_id worker{};
    named_amounts amounts;
    named_amounts missing;
  };
  std::vector<put_by> const& reserved() const { return reserved_; }
  program_id reserved_for() const { return reserved_for_; }
  /// Places that are put by for programs that run.
  std::size_t spare_places() const { return spares_.count(); }

 private:
  fleet look(program const& p, time_point now, fleet::amounts which, bool avoid,
             std::uint32_t more_ports = 0) const;
  bool start(program& p, time_point now);
  bool start_on(program& p, time_point now, bool avoid);
  void reserve(program const& p, time_point now);
  void top_up();
  void note_times(std::vector<program*> const& waiting, time_point now);
  void release();

  /// Programs that find no room in one look: the first of all, and others in turn.
  static constexpr std::size_t tries_max = 16;
  /// A look goes over all workers, so there is time between two that found nothing.
  static constexpr duration between_looks = std::chrono::milliseconds(10);
  /// Ports that rest are looked for again so much later.
  static constexpr duration looks_for_ports = std::chrono::seconds(1);
  program_limits const& limits_;
  program_table& table_;
  host_table& hosts_;
  attempts& attempts_;
  course& course_;
  ledger& ledger_;
  spares spares_;
  std::vector<put_by> reserved_;
  program_id reserved_for_{};
  std::size_t turn_ = 0;  // behind the first, who is tried next
  std::size_t left_ = 0;  // of the others, who were not tried since something changed
  bool asked_ = false;
  std::uint64_t seen_ = 0;  // version of the ledger
  time_point next_look_{};
  time_point due_ = never;
  time_point wake_ = never;  // a pause is over, or ports may have rested
};

}  // namespace muster::core::programs
