// GPUs, read through the driver's library (NVML), which is loaded at first use. Without the
// library, no GPUs are reported.
#pragma once

#include <string>
#include <vector>

#include "base/machine.hpp"

namespace muster {

class nvml {
 public:
  explicit nvml(char const* library = "libnvidia-ml.so.1");
  nvml(nvml const&) = delete;
  ~nvml();

  /// Returns at most machine::gpus_max GPUs. Can block while the driver blocks.
  std::vector<machine::gpu> look() const;

 private:
  struct functions;
  functions* calls_ = nullptr;
};

}  // namespace muster
