// One line in the log for each shortage.
#include "server/app/descriptor_shortage.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace muster::server {

namespace {
constexpr std::chrono::seconds over_after{10};
}  // namespace

void descriptor_shortage::noticed() {
  auto const now = std::chrono::steady_clock::now();
  {
    std::lock_guard lock(mutex_);
    auto const last = std::exchange(last_, now);
    if (last && now - *last < over_after) return;
  }
  spdlog::warn(
      "no file descriptor is left, new connections wait until others are closed limit={} "
      "remedy=\"a higher limit: ulimit -n, LimitNOFILE of systemd\"",
      limit_);
}

}  // namespace muster::server
