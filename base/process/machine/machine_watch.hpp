// Reads the machine every 5 s on its own thread, because the kernel or a driver can hang.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/machine.hpp"

namespace muster {

class machine_watch {
 public:
  static constexpr std::chrono::milliseconds first{1'000}, every{5'000};

  /// Calls `seen` on the thread, first after a second, and never after the destructor.
  explicit machine_watch(std::function<void(machine)> seen);
  /// Does not wait for a reading that hangs: its thread is abandoned.
  ~machine_watch();
  machine_watch(machine_watch const&) = delete;

 private:
  struct shared;
  std::shared_ptr<shared> shared_;
};

}  // namespace muster
