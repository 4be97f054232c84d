// What is remembered of programs' attempts when they are over, in bounded records: who failed and
// what it had printed, where ranks were that were killed, which barriers they were late at, which
// workers were lost. The hub tells it what happens, and writes down what has changed.
//
//   begun ──► ended, killed, lost, told ──► over ──► kept, also on the disk ──► forgotten
//
// Only the worker that had a rank can say something of it. While an attempt runs its record is in
// memory, and is written when something happens; of one that an earlier process of the server began
// there is what that one had written. Owned by a hub; engine thread only; pure.
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

using namespace muster::core;  // what is folded has the core's words

struct black_box_limits {
  std::size_t attempts_max = 32;  // of one program. More: the oldest goes, as the core forgets it
  std::size_t bytes_max = std::size_t{64} << 20;  // of all. More: the oldest go
  // Of one attempt. More is counted, and left out.
  std::size_t events_max = 64, event_bytes_max = 512;
  std::size_t barriers_max = 16, latecomers_max = 16, name_bytes_max = 256;
  std::size_t arrivals_max = 4'096;                     // at the newest of these barriers that fit
  std::size_t stack_bytes_max = std::size_t{96} << 10;  // of different ones together
  std::size_t line_bytes_max = std::size_t{96} << 10;   // of what ranks have printed, together
  std::size_t rank_bytes_max = std::size_t{4} << 10;    // of one of them: its last lines
  std::size_t ranks_max = 512;
};

class black_box {
 public:
  struct name {
    program_id program{};
    std::uint32_t attempt = 0;
    auto operator<=>(name const&) const = default;
  };
  /// Whose rank each is, by number.
  struct seat {
    std::string task, worker, host;  // "worker:3", that of the cluster, its host
    time_point started{};            // epoch: not known
  };

  explicit black_box(black_box_limits limits = {}) : limits_(limits) {}

  /// Harmless when it is known.
  void begun(name const& which, std::vector<seat> seats);
  /// Of an earlier process of the server. One that goes on has begun before.
  void restore(name const& which, attempt_record what);
  bool knows(name const& which) const { return boxes_.contains(which); }

  /// What a worker says of its ranks; what it had said already is passed over.
  void started(time_point now, std::string_view worker, rank_name const& rank);
  void ended(time_point now, std::string_view worker, rank_end const& end);
  /// A worker tells where ranks were that it has killed.
  void killed(std::string_view worker, name const& which, std::vector<attempt_record::stack> where);
  /// The worker is out of sight, or there again: told of attempts that are not over.
  void lost(time_point now, std::string const& worker, std::string const& why);
  /// A worker that was lost is there again.
  void back(time_point now, std::string const& worker);
  /// Of its coordination cluster.
  void told(name const& which, attempt_record::event what);
  /// Nothing of it is alive any more. `late`: of its barriers.
  void over(name const& which, std::vector<attempt_record::meeting> barriers,
            std::vector<attempt_record::latecomer> late);
  /// The records of all its attempts go.
  void forget(program_id program);

  /// Null: nothing is known.
  attempt_record const* find(name const& which) const;
  /// What is to be written down since the last call, or, null, to be erased.
  std::vector<std::pair<name, attempt_record const*>> changes();
  bool has_changes() const { return !changed_.empty() || !gone_.empty(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct box {
    attempt_record what;
    std::vector<seat> seats;
    std::set<std::uint32_t> ended, placed;  // ranks; those whose stack is known
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
  std::size_t bytes_ = 0;  // about
  std::set<name> live_, changed_, gone_;
};

}  // namespace muster::history
