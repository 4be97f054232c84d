// Reads the values of base/machine.hpp. Rates are relative to the previous reading, so the first
// reading contains no rates. Can block while the kernel or a driver blocks.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/machine.hpp"
#include "base/process/machine/control_group.hpp"
#include "base/process/machine/nvml.hpp"

namespace muster {

class machine_reader {
 public:
  using clock = std::chrono::steady_clock;

  /// Tests pass a different prefix for /proc and /sys, and a different driver library.
  explicit machine_reader(std::string root = {}, char const* library = "libnvidia-ml.so.1");

  machine read(clock::time_point now = clock::now());

 private:
  struct totals {
    clock::time_point at{};
    std::optional<double> cpu, received, sent, read, written;
  };
  void read_cpu(machine& m, totals& t) const;
  void read_memory(machine& m) const;
  void read_network(totals& t) const;
  void read_disks(totals& t) const;
  std::vector<machine::memory_user> largest() const;

  std::string const root_;
  control_group const group_;
  nvml const gpus_;
  std::vector<std::string> disks_;
  std::optional<totals> before_;
};

}  // namespace muster
