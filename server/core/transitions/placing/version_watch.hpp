// Fails closures that ask for a version which no worker has while workers have others of the same
// family: "python:3.12" when only "python:3.11" is connected. Without workers of the family, they
// wait.
//
// A version counts as present for reconnect_grace after its last worker has left, which may be
// restarting, and after the server has restarted with jobs. Closures that waited before any worker
// of the family attached get the same time. Draining, disconnected and cordoned workers count.
//
// Owned by the coordinator, which calls it at the end of each step; engine thread only. Bounded by
// the functions with such names (config::functions_max).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/explanation.hpp"
#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"

namespace muster::core {

/// Returns the part before the colon of "python:3.11"; empty if the name does not end with a
/// version. A version starts with a digit and consists of digits and dots.
std::string_view family_of(std::string_view function);

class version_watch {
 public:
  version_watch(engine_state& core, lifecycle& life) : core_(core), life_(life) {}

  /// Fails up to 5,000 closures that no worker will run; returns whether there were any. The rest
  /// follow at due().
  bool refuse();
  /// Returns when `refuse` must be called again.
  time_point due() const { return due_; }
  /// Sets until when workers from before a restart may still reconnect.
  void trust_until(time_point t) { trusted_until_ = t; }
  /// Returns the missing version that a queued closure waits for, if any.
  std::optional<version_wait> why_it_waits(slot c, time_point now) const;

 private:
  struct version {
    function_id function{};
    std::uint32_t family = 0;
    std::uint32_t present = 0;  // number of workers
    time_point left{};          // when its last worker left; epoch: it never had one
    time_point expected{};      // it may appear until then; epoch: no closure waited
  };
  struct version_family {
    std::string name;
    std::uint32_t present = 0;  // number of workers, all versions
  };

  void learn_names();
  void count_workers();
  version const* find(function_id f) const;
  /// Returns until when the version counts as present.
  time_point present_until(version const& v) const;
  bool is_missing(version const& v) const {
    return v.present == 0 && families_[v.family].present > 0;
  }
  bool waits(version const& v) const {
    auto const f = core_.book.functions.totals(v.function);
    return f.queued + f.waiting > 0;
  }
  std::vector<closure_id> waiting_for(function_id f, std::size_t most) const;
  /// Returns the versions of the family that connected workers have: "python:3.10", "python:3.11".
  std::vector<std::string> present_versions(std::uint32_t family) const;

  engine_state& core_;
  lifecycle& life_;

  std::vector<version_family> families_;
  std::vector<version> versions_;  // in order of first use
  std::uint64_t functions_seen_ = 0;
  std::uint64_t workers_seen_ = 0;
  std::uint64_t refused_ = 0;  // closures failed by the last refuse()
  time_point trusted_until_{};
  time_point due_ = never;
};

}  // namespace muster::core
