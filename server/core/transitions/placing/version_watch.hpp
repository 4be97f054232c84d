// Closures that ask for a version which workers do not have, while they have others: "python:3.12"
// beside workers of "python:3.11". Such a one fails and says so, instead of waiting for a worker
// that nobody has started. A version counts as there for reconnect_grace after its last worker has
// gone, as that may be restarting, and after the server has come back with jobs. What waited before
// any worker of the family came gives the others as long to come, too. While there is none at all,
// it waits. Workers that drain, are away or cordoned are there.
//
// Owned by the coordinator, which asks at the end of each step; engine thread only. As many
// versions as functions have such names (config::functions_max).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/explanation.hpp"
#include "server/core/state/engine_state.hpp"
#include "server/core/transitions/lifecycle/lifecycle.hpp"

namespace muster::core {

/// What stands before the colon of "python:3.11"; empty when a name does not end with a version,
/// which begins with a digit and has digits and dots.
std::string_view family_of(std::string_view function);

class version_watch {
 public:
  version_watch(engine_state& core, lifecycle& life) : core_(core), life_(life) {}

  /// Fails what nobody will run, 5,000 closures at one time; whether there were any. Others follow
  /// when it is due.
  bool refuse();
  /// It has to be asked again then.
  time_point due() const { return due_; }
  /// Workers that were there before a restart may not have come back until then.
  void trust_until(time_point t) { trusted_until_ = t; }
  /// Beside what else is said of a queued closure; nothing when its function is no version, or
  /// there.
  std::optional<version_wait> why_it_waits(slot c, time_point now) const;

 private:
  struct version {
    function_id function{};
    std::uint32_t family = 0;
    std::uint32_t present = 0;  // workers
    time_point left{};          // when the last of them had gone; epoch: none ever did
    time_point expected{};      // it may come until then; epoch: nobody waited
  };
  struct version_family {
    std::string name;
    std::uint32_t present = 0;  // workers, of all its versions
  };

  void learn_names();
  void count_workers();
  version const* find(function_id f) const;
  /// It counts as there until then.
  time_point there_until(version const& v) const;
  bool is_missing(version const& v) const {
    return v.present == 0 && families_[v.family].present > 0;
  }
  bool waits(version const& v) const {
    auto const f = core_.book.functions.totals(v.function);
    return f.queued + f.waiting > 0;
  }
  std::vector<closure_id> waiting_for(function_id f, std::size_t most) const;
  /// Those of the family that connected workers have: "python:3.10", "python:3.11".
  std::vector<std::string> versions_there(std::uint32_t family) const;

  engine_state& core_;
  lifecycle& life_;

  std::vector<version_family> families_;
  std::vector<version> versions_;  // as they were named first
  std::uint64_t functions_seen_ = 0;
  std::uint64_t workers_seen_ = 0;
  std::uint64_t refused_ = 0;  // by the last question
  time_point trusted_until_{};
  time_point due_ = never;
};

}  // namespace muster::core
