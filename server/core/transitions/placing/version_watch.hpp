// Fails closures that require a version that no worker provides, while workers provide other
// versions of the same family. For example, closures that require "python:3.12" fail if only
// "python:3.11" is connected. If no worker provides the family, the closures wait.
//
// A version counts as present for reconnect_grace after its last worker has left, because that
// worker may restart. All versions count as present for the same period after the server has
// restarted with jobs. Closures that waited before the first worker of the family attached have the
// same grace period. Draining, disconnected and cordoned workers count. Used only on the engine
// thread; bounded by config::functions_max.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/explanation.hpp"
#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"

namespace muster::core {

/// Returns the family of a function: "python" for "python:3.11". Returns an empty string if the
/// name does not end with a version. A version starts with a digit and consists of digits and dots.
std::string_view family_of(std::string_view function);

class version_watch {
 public:
  version_watch(engine_state& core, lifecycle& life) : core_(core), life_(life) {}

  /// Fails up to 5,000 closures that no worker will run; further closures fail at due(). Returns
  /// whether a closure failed.
  bool refuse();
  time_point due() const { return due_; }
  /// Sets the time until which workers that connected before a restart are expected to reconnect.
  void trust_until(time_point t) { trusted_until_ = t; }
  std::optional<version_wait> why_it_waits(slot c, time_point now) const;

 private:
  struct version {
    function_id function{};
    std::uint32_t family = 0;
    std::uint32_t present = 0;
    time_point left{};      // when the last worker left; the epoch before the first worker
    time_point expected{};  // end of the version's grace period; the epoch if no closure waited
  };
  struct version_family {
    std::string name;
    std::uint32_t present = 0;
  };

  void learn_names();
  void count_workers();
  version const* find(function_id f) const;
  time_point present_until(version const& v) const;
  bool is_missing(version const& v) const {
    return v.present == 0 && families_[v.family].present > 0;
  }
  bool waits(version const& v) const {
    auto const f = core_.book.functions.totals(v.function);
    return f.queued + f.waiting > 0;
  }
  std::vector<closure_id> waiting_for(function_id f, std::size_t most) const;
  std::vector<std::string> present_versions(std::uint32_t family) const;

  engine_state& core_;
  lifecycle& life_;

  std::vector<version_family> families_;
  std::vector<version> versions_;
  std::uint64_t functions_seen_ = 0;
  std::uint64_t workers_seen_ = 0;
  std::uint64_t refused_ = 0;
  time_point trusted_until_{};
  time_point due_ = never;
};

}  // namespace muster::core
