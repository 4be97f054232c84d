// A worker with an open stream or one that may reconnect, and whether it accepts closures. The
// scheduler knows the closures that it holds.
#pragma once

#include "server/core/api/model.hpp"
#include "server/core/records/numbers.hpp"

namespace muster::core {

struct task_row;

struct worker {
  worker_number number{};
  stream_id stream{};
  task_row* task = nullptr;
  std::uint32_t place = 0;
  bool draining = false;
  bool away = false;     // its connection broke; it may still run what it holds
  bool waiting = false;  // for its staggered start
  bool counted = false;  // counted among the workers that have its functions
  time_point away_since{};
  time_point starts_at{};    // waiting: end of the wait
  time_point alarm = never;  // away: when the next closure stops waiting for it
  time_point noted_at{};     // when its running closures were last recorded as facts

  /// Returns whether it may be sent closures, now or after its staggered start.
  bool serves() const;
  bool open() const { return serves() && !waiting; }
};

}  // namespace muster::core
