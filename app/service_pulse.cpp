#include "app/service_pulse.hpp"

#include <unistd.h>

#include <cstdlib>

#include "base/text.hpp"
#include "server/net/service_manager.hpp"

namespace muster::server {
namespace {

std::string variable(char const* name) {
  auto const* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::chrono::microseconds watched_every() {
  auto const pid = variable("WATCHDOG_PID");
  auto const limit = muster::parse_number(variable("WATCHDOG_USEC"));
  ::unsetenv("WATCHDOG_PID");
  ::unsetenv("WATCHDOG_USEC");
  bool const mine = pid.empty() || pid == std::to_string(::getpid());
  constexpr std::uint64_t limit_max = 86'400'000'000;
  if (!mine || !limit || *limit > limit_max) return {};
  return std::chrono::microseconds(*limit / 3);
}

}  // namespace

service_pulse::service_pulse() : notify_(variable("NOTIFY_SOCKET")), interval_(watched_every()) {}

void service_pulse::begin() {
  if (notify_.empty() || interval_ == interval_.zero()) return;
  thread_ = std::jthread([this](std::stop_token end) { beat(std::move(end)); });
}

void service_pulse::send(std::string_view text) const {
  net::send_notice(notify_, std::string(text));
}

void service_pulse::follow(coro::engine_context& engine) {
  std::lock_guard const lock(mutex_);
  engine_ = &engine;
}

void service_pulse::stopping() {
  {
    std::lock_guard const lock(mutex_);
    engine_ = nullptr;
  }
  send("STOPPING=1");
}

void service_pulse::beat(std::stop_token end) {
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, end, interval_, [&] { return end.stop_requested(); })) {
    if (engine_ == nullptr) {
      send(net::sign_of_life);
    } else if (!post_pending_.exchange(true)) {
      engine_->post([this] {
        send(net::sign_of_life);
        post_pending_ = false;
      });
    }
  }
}

}  // namespace muster::server
