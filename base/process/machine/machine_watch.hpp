// Looks at the machine once in 5 s on a thread of its own, as a reading may hang in the kernel or
// in a driver.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/machine.hpp"

namespace muster {

class machine_watch {
 public:
  static constexpr std::chrono::milliseconds first{1'000}, every{5'000};

  /// `seen` is called on the thread, not after the destructor. The first time after a second.
  explicit machine_watch(std::function<void(machine)> seen);
  /// Does not wait for a reading that hangs: its thread is left behind.
  ~machine_watch();
  machine_watch(machine_watch const&) = delete;

 private:
  struct shared;
  std::shared_ptr<shared> shared_;
};

}  // namespace muster
