// Programs by id, by idempotency key and in waiting order.
//
// Owned by the controller. The limits are program_limits::programs_max and finished_max.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "server/core/programs/program.hpp"

namespace muster::core::programs {

class program_table {
 public:
  explicit program_table(program_limits const& limits) : limits_(limits) {}

  /// Returns null if the key is unknown.
  program const* with_key(std::string const& submitted_by, std::string const& chosen) const;
  status room() const;
  /// REQUIRES: room() succeeds; the id and the key are new.
  program& add(program p);
  program* find(program_id id);
  program const* find(program_id id) const;

  /// Records the end of a program. Appends to `gone` the ids of programs that were removed at the
  /// limit.
  void finished(program const& p, std::vector<program_id>& gone);
  void forget(program_id id);

  /// Returns the waiting programs by priority, then by age.
  std::vector<program*> waiting();
  std::vector<program const*> waiting() const;
  void note(program const& p);  // must be called after each change of p.waits()

  std::map<program_id, program> const& all() const { return all_; }
  /// Finished programs, ordered by end time.
  std::set<std::pair<time_point, program_id>> const& ended() const { return ended_; }

 private:
  using key = std::pair<std::string, std::string>;
  static key key_of(program const& p) { return {p.spec->submitted_by, p.spec->idempotency_key}; }

  program_limits const& limits_;
  std::map<program_id, program> all_;
  std::map<key, program_id> by_key_;
  std::set<std::pair<time_point, program_id>> ended_;
  std::set<std::pair<std::int64_t, program_id>> waiting_;  // highest priority first
};

}  // namespace muster::core::programs
