// GPUs, as the driver's library tells of them. It is loaded when asked first: where there is none,
// there are no GPUs.
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

  /// At most machine::gpus_max. May take as long as the driver does.
  std::vector<machine::gpu> look() const;

 private:
  struct functions;
  functions* calls_ = nullptr;  // null: there is no driver
};

}  // namespace muster
