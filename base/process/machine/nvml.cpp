#include "base/process/machine/nvml.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <memory>

namespace muster {
namespace {

// Struct from nvml.h, whose ABI is stable.
struct utilization {
  unsigned gpu, memory;
};
struct memory_info {
  unsigned long long total, free, used;
};
using device = void*;

template <class F>
bool load(void* library, char const* name, F*& to) {
  to = reinterpret_cast<F*>(dlsym(library, name));
  return to != nullptr;
}

}  // namespace

struct nvml::functions {
  void* library = nullptr;
  int (*init)() = nullptr;
  int (*shut_down)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*handle)(unsigned, device*) = nullptr;
  int (*name)(device, char*, unsigned) = nullptr;
  int (*busy)(device, utilization*) = nullptr;
  int (*memory)(device, memory_info*) = nullptr;

  bool load_all() {
    return load(library, "nvmlInit_v2", init) && load(library, "nvmlShutdown", shut_down) &&
           load(library, "nvmlDeviceGetCount_v2", count) &&
           load(library, "nvmlDeviceGetHandleByIndex_v2", handle) &&
           load(library, "nvmlDeviceGetName", name) &&
           load(library, "nvmlDeviceGetUtilizationRates", busy) &&
           load(library, "nvmlDeviceGetMemoryInfo", memory);
  }
};

nvml::nvml(char const* library) {
  auto found = std::make_unique<functions>();
  found->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!found->library) return;
  if (found->load_all() && found->init() == 0)
    calls_ = found.release();
  else
    dlclose(found->library);
}

// The library stays loaded, because unloading a driver is unsafe while other code uses it.
nvml::~nvml() {
  if (calls_) calls_->shut_down();
  delete calls_;
}

std::vector<machine::gpu> nvml::look() const {
  std::vector<machine::gpu> all;
  unsigned count = 0;
  if (!calls_ || calls_->count(&count) != 0) return all;
  for (unsigned i = 0; i < std::min<unsigned>(count, machine::gpus_max); ++i) {
    device one = nullptr;
    if (calls_->handle(i, &one) != 0) continue;
    auto& gpu = all.emplace_back();
    char name[96] = {};
    if (calls_->name(one, name, sizeof name - 1) == 0) gpu.name = name;
    utilization busy{};
    if (calls_->busy(one, &busy) == 0) gpu.busy = std::min(busy.gpu, 100u) / 100.0;
    memory_info memory{};
    if (calls_->memory(one, &memory) == 0)
      gpu.memory = memory.used, gpu.memory_total = memory.total;
  }
  return all;
}

}  // namespace muster
