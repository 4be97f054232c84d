// GPUs by CUDA_VISIBLE_DEVICES, else by what the driver shows below /proc.
#include "cluster/gpu_list.hpp"

#include <filesystem>

#include "cluster/text.hpp"

namespace muster::cluster {

std::vector<std::string> visible_devices(std::string_view text) {
  std::vector<std::string> devices;
  for (auto const part : split(text, ',')) {
    auto const device = trimmed(part);
    if (device.empty() || device == "-1" || device == "NoDevFiles") break;
    devices.emplace_back(device);
  }
  return devices;
}

int gpus_of_driver() {
  std::error_code error;
  auto const folder = std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error);
  int n = 0;
  if (!error)
    for (auto it = begin(folder); it != end(folder) && !error; it.increment(error)) ++n;
  return n;
}

}  // namespace muster::cluster
