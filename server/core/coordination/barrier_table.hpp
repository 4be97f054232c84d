// Barriers by id: running ones in order of their start, finished ones in order of their end.
// Owned by standalone_service. Limits: barriers_max running (the call that would start one more is
// refused), finished_barriers_max remembered (the oldest is forgotten).
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/core/api/time.hpp"
#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

/// Who answers when it ends, and with what.
enum class barrier_purpose : std::uint8_t { user, registration, devices, shutdown };

/// In ascending order.
using participants = std::vector<task_index>;

struct barrier {
  std::string id;
  std::int64_t counter = 0;
  barrier_purpose purpose = barrier_purpose::user;
  bool whole_cluster = false;
  bool running = false;
  bool told_stuck = false;
  bool missing_stale = true;  // `missing` no longer says who has not come
  fault_ptr result;           // of an ended one; null: passed
  task_index first = no_task;
  std::size_t arrived_count = 0;
  time_point started{};
  time_point waiting_since{};  // since then somebody has been waiting without a break
  time_point deadline = never;
  time_point ended{};
  time_point due = never;  // its place among the deadlines
  std::shared_ptr<coordination::participants const> who;
  // By position in `who`, while running: the parked call, 0 when it has not come.
  std::vector<call_id> calls;
  // By position: came, and was answered shortly before its own deadline. Not missing, therefore.
  std::vector<bool> gave_up;
  std::size_t gave_up_count = 0;
  std::string missing;  // in words; kept, since a thousand callers may ask for it at one time
  time_point missing_at{};
  std::list<barrier*>::iterator place;

  /// Position of the task; who->size() when it takes no part.
  std::size_t position(task_index t) const;
};

class barrier_table {
 public:
  /// Null: unknown or forgotten.
  barrier* find(std::string_view id) const;
  /// A new instance, running: of a new id or of a finished one. REQUIRES: not running.
  barrier& start(std::string const& id);
  /// Stops its clock and remembers it as finished.
  void finish(barrier& b, std::size_t remembered_max);
  void set_due(barrier& b, time_point due);
  /// Forgotten barriers stay readable until the step that forgot them is over. Call between steps.
  void bury() { forgotten_.clear(); }

  std::list<barrier*> const& running() const { return running_; }
  std::list<barrier*> const& finished() const { return finished_; }
  /// Some finished barrier was forgotten: counters of unknown ids can no longer be checked.
  bool forgetful() const { return forgetful_; }
  time_point next_due() const { return due_.empty() ? never : due_.begin()->first.first; }
  /// REQUIRES: next_due() != never.
  barrier& first_due() const { return *due_.begin()->second; }

 private:
  struct hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::unordered_map<std::string, std::unique_ptr<barrier>, hash, std::equal_to<>> by_id_;
  std::vector<std::unique_ptr<barrier>> forgotten_;
  std::list<barrier*> running_;
  std::list<barrier*> finished_;  // oldest first
  // By time, then by id, so that effects do not depend on addresses.
  std::map<std::pair<time_point, std::string_view>, barrier*> due_;
  bool forgetful_ = false;
};

}  // namespace muster::core::coordination
