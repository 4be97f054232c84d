#include "muster/time_source.hpp"

#include <memory>
#include <random>
#include <thread>

namespace muster::cluster {

time_source real_time() {
  auto const random = std::make_shared<std::minstd_rand>(std::random_device{}());
  return {[] { return std::chrono::steady_clock::now(); },
          [] { return std::chrono::system_clock::now(); },
          [](std::chrono::milliseconds span) { std::this_thread::sleep_for(span); },
          [random] { return std::uniform_real_distribution<>(0, 1)(*random); }};
}

}  // namespace muster::cluster
