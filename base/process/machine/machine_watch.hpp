// Reads the machine state every 5 s on its own thread, because the kernel or a driver can hang.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "base/machine.hpp"

namespace muster {

class machine_watch {
 public:
  static constexpr std::chrono::milliseconds first{1'000}, every{5'000};

  /// Calls `seen` on the thread, first after one second, and never after the destructor has
  /// returned.
  explicit machine_watch(std::function<void(machine)> seen);
  /// Abandons the thread if a reading hangs, instead of waiting for it.
  ~machine_watch();
  machine_watch(machine_watch const&) = delete;

 private:
  struct shared;
  std::shared_ptr<shared> shared_;
};

}  // namespace muster
