// Reads what base/machine.hpp tells of. Figures of a second are since the reading before, so the
// first has none of them. A reading may take as long as the kernel and the driver do.
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

  /// For tests: what stands before /proc and /sys, and another library of the driver.
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
  std::vector<std::string> disks_;  // whole ones, that are no others in disguise
  std::optional<totals> before_;
};

}  // namespace muster
