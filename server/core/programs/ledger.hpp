// The controller's view of worker resources. Ranks and closures share these resources.
#pragma once

#include "server/core/api/programs.hpp"

namespace muster::core::programs {

struct worker_resources {
  bool open = false;  // whether the worker accepts new work
  named_amounts const* free = nullptr;
  named_amounts const* all = nullptr;
  named_texts const* labels = nullptr;
};

class ledger {
 public:
  virtual ~ledger() = default;
  /// Returns the worker's resources, or an empty result for an unknown worker. Valid until the next
  /// take() or give_back().
  virtual worker_resources find(stream_id worker) const = 0;
  /// Reserves resources. Returns false and changes nothing if the worker has less.
  virtual bool take(stream_id worker, named_amounts const& amounts) = 0;
  /// Releases resources. Ignored if the worker is unknown.
  virtual void give_back(stream_id worker, named_amounts const& amounts) = 0;
  /// Returns a number that changes when workers connect or leave, or when resources become free.
  virtual std::uint64_t version() const = 0;
};

}  // namespace muster::core::programs
