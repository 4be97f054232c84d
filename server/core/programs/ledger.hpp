// What the controller needs to know of workers' resources, which the scheduler owns: ranks and
// closures take from the same.
#pragma once

#include "server/core/api/programs.hpp"

namespace muster::core::programs {

struct worker_room {
  bool open = false;  // takes something new
  named_amounts const* free = nullptr;
  named_amounts const* all = nullptr;
  named_texts const* labels = nullptr;
};

class ledger {
 public:
  virtual ~ledger() = default;
  /// Not open, and no more, when there is no such worker. Valid until the next take or give_back.
  virtual worker_room look(stream_id worker) const = 0;
  /// False: it has not that much, nothing was taken.
  virtual bool take(stream_id worker, named_amounts const& amounts) = 0;
  /// Nothing when the worker is gone, and with it what was taken.
  virtual void give_back(stream_id worker, named_amounts const& amounts) = 0;
  /// Another number: workers have come or gone, or resources have become free.
  virtual std::uint64_t version() const = 0;
};

}  // namespace muster::core::programs
