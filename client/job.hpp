// A closure that a worker holds: written by the engine thread before it is queued, by the executor
// thread that runs it afterwards, read by the engine again once it is done. `state` decides who has
// it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>

#include "client/function_call.hpp"

namespace muster {

struct job {
  enum class phase : std::uint8_t {
    queued,   // nobody has started it
    running,  // a thread has it
    dropped,  // answered or void before it was started
  };

  std::uint64_t stream = 0;  // the attachment it came on
  std::uint64_t closure = 0;
  std::uint32_t attempt = 0;
  registered_function const* function = nullptr;
  std::shared_ptr<worker_identity const> worker;
  value args;

  std::atomic<phase> state = phase::queued;
  std::stop_source stop;

  bool ok = false;
  value result;
  failure why;
};

}  // namespace muster
