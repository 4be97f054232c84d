// A worker as long as its stream lives: whether it is there, and whether it takes closures. What it
// holds is the scheduler's to know.
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
  bool away = false;     // its connection broke; what it holds it may be running
  bool waiting = false;  // for its staggered start
  bool counted = false;  // among the workers that have its functions
  time_point away_since{};
  time_point starts_at{};    // waiting: until then
  time_point alarm = never;  // away: when the next closure stops waiting
  time_point noted_at{};     // what runs there was looked at last

  /// May be sent closures, now or once it has room.
  bool serves() const;
  bool open() const { return serves() && !waiting; }
};

}  // namespace muster::core
