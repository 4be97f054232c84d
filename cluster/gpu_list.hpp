// The GPUs of this machine, without asking CUDA.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::cluster {

/// The entries of CUDA_VISIBLE_DEVICES up to the first that is none, as CUDA reads it.
std::vector<std::string> visible_devices(std::string_view text);
/// Those that the kernel driver lists; 0 when there is no driver.
int gpus_of_driver();

}  // namespace muster::cluster
