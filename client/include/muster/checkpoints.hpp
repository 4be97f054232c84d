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
  /// Number of newest checkpoints to keep; if unset, all are kept.
  std::optional<std::uint32_t> keep{};
  /// Save one consistent state: wait until no scheduled call is running, and make new calls wait.
  /// Does not pause other coordinators, or direct calls of objects and variables.
  bool quiesce = false;
  /// Maximum time to wait for scheduled calls to end.
  std::chrono::milliseconds timeout = detail::for_ever;
};

/// Saves checkpoints at regular intervals on a separate thread, until stop() is called or until
/// this object or the coordinator is destroyed.
///
/// @code
/// muster::cluster_coordinator c({.server = "127.0.0.1:8476"});
/// auto w = c.make_variable<float>({.name = "w"}, muster::shape{1000, 64});
/// c.restore("/ckpt");  // after all variables and objects have been created
/// auto const saved = c.checkpoints("/ckpt", std::chrono::minutes(1));
/// @endcode
///
/// Errors are logged, and thrown by stop() or by the next schedule, join or done. Saving is
/// suspended when a task is declared lost, when a variable or object is recreated, and if the
/// directory already contains checkpoints. Calling cluster_coordinator::restore resumes saving. The
/// suspension keeps initial values out of the newest checkpoint. Members must be called from one
/// thread unless documented otherwise.
class periodic_checkpoints {
 public:
  /// The implementation class.
  class impl;
  /// Constructs the object; used by the library.
  /// @param made  the implementation
  explicit periodic_checkpoints(std::unique_ptr<impl> made);
  /// Moves the saving thread from another object.
  periodic_checkpoints(periodic_checkpoints&&) noexcept;
  /// Stops saving and ignores errors.
  ~periodic_checkpoints();

  /// Returns the number of the newest saved checkpoint, or nothing if none has been saved. May be
  /// called from any thread.
  std::optional<std::uint64_t> last() const;
  /// Stops saving. If a checkpoint is being written, completes it first. Throws any error that has
  /// not been thrown yet.
  void stop();

 private:
  std::unique_ptr<impl> impl_;
};

}  // namespace muster
