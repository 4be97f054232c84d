// Interruptible sleep for polling threads. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace muster::net {

/// Returns false if a stop was requested.
inline bool sleep_until_stop(std::stop_token const& stop, std::chrono::milliseconds span) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, span, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace muster::net
