// A small process beside this one that kills every process group it was told of once this process
// is gone, however it went: what children started dies too, even after SIGKILL. Owned by main, made
// before the first thread; used by one thread.
#pragma once

#include <sys/types.h>

#include "process/file_descriptor.hpp"

namespace muster::launch {

class guardian {
 public:
  /// Groups watched at one time; more are killed at this process's orderly end only.
  static constexpr int groups_max = 4096;

  /// Errors: std::system_error.
  guardian();
  /// Lets it end and waits for that.
  ~guardian();
  guardian(guardian const&) = delete;

  void watch(pid_t group) { tell(group); }
  void forget(pid_t group) { tell(-group); }
  pid_t pid() const { return pid_; }

 private:
  void tell(pid_t number) const;

  file_descriptor line_;
  pid_t pid_ = 0;
};

/// Kills, and waits for, what descends from this process and was left to it by its parents, except
/// `spared`. Needs PR_SET_CHILD_SUBREAPER. For each at most a second.
void kill_orphans(pid_t spared);
/// From now on this process is the parent of whatever its children leave behind.
void adopt_orphans();

}  // namespace muster::launch
