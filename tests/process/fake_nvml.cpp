// A fake NVML library with two GPUs, one without utilization.
#include <cstring>

using device = void*;

extern "C" {
int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned i, device* to) {
  static char devices[2];
  *to = devices + i;
  *static_cast<char*>(*to) = static_cast<char>(i);
  return 0;
}
int nvmlDeviceGetName(device, char* to, unsigned size) {
  std::strncpy(to, "Fake H100", size);
  return 0;
}
int nvmlDeviceGetUtilizationRates(device d, unsigned* to) {
  if (*static_cast<char*>(d) == 1) return 3;  // NVML_ERROR_NOT_SUPPORTED
  to[0] = 75, to[1] = 10;
  return 0;
}
int nvmlDeviceGetMemoryInfo(device, unsigned long long* to) {
  to[0] = 80ull << 30, to[1] = 60ull << 30, to[2] = 20ull << 30;
  return 0;
}
}
