// How a thread of its own that looks at something from time to time sleeps in between. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace muster::net {

/// False: it was, or is, asked to stop.
inline bool slept(std::stop_token const& stop, std::chrono::milliseconds span) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, span, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace muster::net
