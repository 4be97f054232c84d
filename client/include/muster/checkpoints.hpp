// Checkpoints of what a coordinator has on tasks; see docs/variables.md#checkpoints.
//
//   c.restore("/ckpt");                            // after everything is made
//   auto const saved = c.checkpoints("/ckpt", std::chrono::minutes(1));
//   train_all();
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "muster/detail/value_handle.hpp"

namespace muster {

struct checkpoint_options {
  /// The newest so many stay. Nothing: all of them.
  std::optional<std::uint32_t> keep{};
  /// All is of one moment: it waits until nothing that was scheduled runs, and who schedules
  /// meanwhile waits. It does not hold other coordinators, nor calls that are made by hand.
  bool quiesce = false;
  /// For so long it waits at most.
  std::chrono::milliseconds timeout = detail::for_ever;
};

/// Checkpoints that a thread makes from time to time, until stop(), its end, or that of its
/// coordinator. What goes wrong is in the log, and thrown by the next schedule, join or done, or by
/// stop(). After a task was lost, or something was made again, or where its path has checkpoints of
/// before, nothing is saved until restore() was called: else zeros would become the newest. One
/// thread.
class periodic_checkpoints {
 public:
  class impl;
  explicit periodic_checkpoints(std::unique_ptr<impl> made);
  periodic_checkpoints(periodic_checkpoints&&) noexcept;
  /// As stop(), but throws nothing.
  ~periodic_checkpoints();

  /// The newest that it has made. Any thread.
  std::optional<std::uint64_t> last() const;
  /// Returns when none is being made any more. Throws what has gone wrong and was not thrown yet.
  void stop();

 private:
  std::unique_ptr<impl> impl_;
};

}  // namespace muster
