// A worker whose stream is open or that can reconnect. Used only on the engine thread.
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
  bool away = false;  // the connection broke; the worker may still run its closures
  bool waiting = false;
  bool counted = false;
  time_point away_since{};
  time_point starts_at{};    // end of the wait for the staggered start
  time_point alarm = never;  // while away, when the next closure stops waiting for the worker
  time_point noted_at{};     // when the worker's running closures were last recorded as facts

  /// Returns whether the worker can receive closures, now or after its staggered start.
  bool serves() const;
  bool open() const { return serves() && !waiting; }
};

}  // namespace muster::core
