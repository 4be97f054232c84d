// Checkpoints of a coordinator's variables and objects; see docs/variables.md#checkpoints.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "muster/detail/value_handle.hpp"

namespace muster {

/// Options of a checkpoint.
struct checkpoint_options {
  /// Number of checkpoints to keep, newest first; unset: all.
  std::optional<std::uint32_t> keep{};
  /// Save one consistent state: wait until no scheduled call runs, and make new ones wait. Does not
  /// pause other coordinators, or direct calls of objects and variables.
  bool quiesce = false;
  /// Longest wait for scheduled calls to end.
  std::chrono::milliseconds timeout = detail::for_ever;
};

/// Saves checkpoints at intervals on a thread of its own, until stop() or the end of this object or
/// of the coordinator.
///
/// @code
/// muster::cluster_coordinator c({.server = "127.0.0.1:8476"});
/// auto w = c.make_variable<float>({.name = "w"}, muster::shape{1000, 64});
/// c.restore("/ckpt");  // after all variables and objects have been created
/// auto const saved = c.checkpoints("/ckpt", std::chrono::minutes(1));
/// @endcode
///
/// Errors are logged, and thrown by stop() or the next schedule, join or done. Saving is suspended
/// until cluster_coordinator::restore is called after a task was lost, after something was
/// recreated, or if the directory already has checkpoints. This prevents a newest checkpoint of
/// zeros. Members must be called from one thread unless documented otherwise.
class periodic_checkpoints {
 public:
  /// Implementation.
  class impl;
  /// Used by the library.
  /// @param made  the implementation
  explicit periodic_checkpoints(std::unique_ptr<impl> made);
  /// Moves the thread of `other` into a new object.
  periodic_checkpoints(periodic_checkpoints&&) noexcept;
  /// Stops saving, and ignores errors.
  ~periodic_checkpoints();

  /// Returns the number of the newest checkpoint saved, or nothing. May be called from any thread.
  std::optional<std::uint64_t> last() const;
  /// Stops saving, and waits for a checkpoint that is being written. Throws an error that has not
  /// been thrown yet.
  void stop();

 private:
  std::unique_ptr<impl> impl_;
};

}  // namespace muster
