// One call of a user's function, whatever it does, and the closure that a worker holds for it:
// written by the engine thread before it is queued, by the executor thread that runs it afterwards,
// read by the engine again once it is done. `state` decides who has it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "client/value_wait.hpp"
#include "client/worker/per_worker_store.hpp"
#include "muster/context.hpp"
#include "muster/function.hpp"

namespace muster {

struct registered_function {
  std::string name;
  raw_function call;
  bool quick = false;  // runs on the stream's thread
  bool typed = false;  // parses its arguments by itself, and puts PerWorkerValues into them
};

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
  std::uint32_t workers = 0;         // that its job has, as the server says
  per_worker_store* kept = nullptr;  // null: nothing to do with PerWorkerValues
  std::uint64_t builds = 0;          // handle of the value that it makes; 0: none
  std::vector<std::uint64_t> uses;   // handles of the values in its arguments

  std::atomic<phase> state = phase::queued;
  std::atomic<std::chrono::steady_clock::time_point> began{};  // epoch: not yet
  std::stop_source stop;
  detail::wait_start waits_since{};  // for a value

  bool ok = false;
  value result;
  failure why;
  std::chrono::steady_clock::duration took{};

  bool finished = false;        // engine thread: `ok` to `took` can be read
  bool start_reported = false;  // engine thread
  bool wait_told = false;       // engine thread: it has given its slot back
};

/// True: `result` is the value. False: `why` says how the closure fails. REQUIRES: `result` is
/// empty JSON; it may keep memory from before.
bool call_function(registered_function const& f, context& c, value_view args, value& result,
                   failure& why) noexcept;

/// How a closure fails whose function threw. REQUIRES: called in a catch block.
failure failure_of_current_exception();

/// Calls the job's function, with the PerWorkerValues it uses in place, and keeps the one it
/// builds; sets ok, and result or why. On the thread that runs the job.
void run_job(job& j, context& c) noexcept;

}  // namespace muster
