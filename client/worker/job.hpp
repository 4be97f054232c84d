// A closure that a worker holds: written by the engine thread before it is queued, by the executor
// thread that runs it afterwards, read by the engine again once it is done. `state` decides who has
// it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "client/worker/function_call.hpp"
#include "client/worker/per_worker_store.hpp"

namespace muster {

struct job {
  enum class phase : std::uint8_t {
    queued,   // nobody has started it
    running,  // a thread has it
    dropped,  // answered or void before it was started
  };

  std::uint64_t closure = 0;
  std::uint32_t attempt = 0;
  registered_function const* function = nullptr;
  std::shared_ptr<worker_identity const> worker;
  value args;
  std::uint32_t workers = 0;         // connected ones, as the server said last
  per_worker_store* kept = nullptr;  // null: nothing to do with PerWorkerValues
  std::uint64_t builds = 0;          // handle of the value that it makes; 0: none
  std::vector<std::uint64_t> uses;   // handles of the values in its arguments

  std::atomic<phase> state = phase::queued;
  std::stop_source stop;

  bool ok = false;
  value result;
  failure why;
  std::chrono::steady_clock::duration took{};

  bool finished = false;  // engine thread: `ok` to `took` can be read
};

/// Calls the job's function, with the PerWorkerValues it uses in place, and keeps the one it
/// builds; sets ok, and result or why. On the thread that runs the job.
void run_job(job& j, context& c) noexcept;

}  // namespace muster
