// Bounded diagnostic records of programs' attempts. The hub reports events and stores changed
// records. States of a record:
//
//   begun ──► with events ──► closed ──► stored, also on disk ──► removed
//
// A report about a rank is accepted only from the worker that runs the rank. A running attempt's
// record is stored after each event. A record that an earlier server process began is continued.
// Owned by a hub; used only on the engine thread; pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/api/attempt_record.hpp"
#include "server/core/api/program_views.hpp"
#include "server/core/api/ranks.hpp"

namespace muster::history {

using namespace muster::core;

struct black_box_limits {
  std::size_t attempts_max = 32;  // per program; at the limit, the oldest record is dropped
  // At the limit, the oldest records are dropped.
  std::size_t bytes_max = std::size_t{64} << 20;
  // Limits per attempt. Excess entries are counted but not stored.
  std::size_t events_max = 64, event_bytes_max = 512;
  std::size_t barriers_max = 16, latecomers_max = 16, name_bytes_max = 256;
  std::size_t arrivals_max = 4'096;  // only the newest barriers that fit are stored
  std::size_t stack_bytes_max = std::size_t{96} << 10;  // for all distinct stacks
  std::size_t line_bytes_max = std::size_t{96} << 10;   // output lines of all ranks
  std::size_t rank_bytes_max = std::size_t{4} << 10;    // last output lines of one rank
  std::size_t ranks_max = 512;
};

class black_box {
 public:
  struct name {
    program_id program{};
    std::uint32_t attempt = 0;
    auto operator<=>(name const&) const = default;
  };
  struct seat {
    // The task in the program's cluster; the worker, such as "worker:3"; and the worker's host.
    std::string task, worker, host;
    time_point started{};  // the epoch if unknown
  };

  explicit black_box(black_box_limits limits = {}) : limits_(limits) {}

  /// Has no effect if the record exists.
  void begun(name const& which, std::vector<seat> seats);
  /// Restores a record from an earlier server process. If the attempt is running, call `begun`
  /// first.
  void restore(name const& which, attempt_record what);
  bool knows(name const& which) const { return boxes_.contains(which); }

  /// Repeated reports are ignored.
  void started(time_point now, std::string_view worker, rank_name const& rank);
  void ended(time_point now, std::string_view worker, rank_end const& end);
  void killed(std::string_view worker, name const& which, std::vector<attempt_record::stack> where);
  /// Records in the worker's running attempts that the worker is disconnected.
  void lost(time_point now, std::string const& worker, std::string const& why);
  void back(time_point now, std::string const& worker);
  void told(name const& which, attempt_record::event what);
  /// Closes the record after all ranks have exited.
  void over(name const& which, std::vector<attempt_record::meeting> barriers,
            std::vector<attempt_record::late_task> late);
  void forget(program_id program);

  attempt_record const* find(name const& which) const;
  /// Returns the records that changed since the last call; null means that the record must be
  /// deleted.
  std::vector<std::pair<name, attempt_record const*>> changes();
  bool has_changes() const { return !changed_.empty() || !removed_.empty(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct box {
    attempt_record what;
    std::vector<seat> seats;
    std::set<std::uint32_t> ended, placed;  // ranks that have exited; ranks whose stack is known
    std::set<std::string, std::less<>> workers, away;
    std::size_t stack_bytes = 0, line_bytes = 0, bytes = 0;
  };
  using boxes = std::map<name, box>;

  bool is_over(name const& which) const { return !live_.contains(which); }
  box* of(name const& which, std::uint32_t rank, std::string_view worker);
  void add(name const& which, box& b, attempt_record::event e);
  void changed(name const& which, box& b);
  void weigh(box& b);
  void erase(boxes::iterator it);
  void make_room(name const& but);

  black_box_limits const limits_;
  boxes boxes_;
  std::size_t bytes_ = 0;  // approximate
  std::set<name> live_, changed_, removed_;
};

}  // namespace muster::history
