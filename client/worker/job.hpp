// A call of a user's function for a closure. The engine thread fills the job, an executor thread
// runs the job, and the engine thread reads the result. `state` determines which thread owns the
// job.
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
  bool typed = false;  // parses its arguments and resolves their per-worker values itself
};

struct job {
  enum class phase : std::uint8_t {
    queued,
    running,  // an executor thread owns the job
    dropped,  // the job was answered or dropped before its start
  };

  std::uint64_t closure = 0;
  std::uint32_t attempt = 0;
  registered_function const* function = nullptr;
  std::shared_ptr<worker_identity const> worker;
  value args;
  std::uint32_t workers = 0;         // number of workers in its job, according to the server
  per_worker_store* kept = nullptr;  // null if the call uses no per-worker values
  std::uint64_t builds = 0;          // handle of the value that it builds, or 0
  std::vector<std::uint64_t> uses;   // handles of values in its arguments

  std::atomic<phase> state = phase::queued;
  std::atomic<std::chrono::steady_clock::time_point> began{};  // the epoch before the start
  std::stop_source stop;
  detail::wait_start waits_since{};

  bool ok = false;
  value result;
  failure why;
  std::chrono::steady_clock::duration took{};

  bool finished = false;        // whether `ok` to `took` are valid; used only by the engine thread
  bool start_reported = false;  // used only by the engine thread
  bool slot_returned = false;   // used only by the engine thread
};

/// Returns true with the value in `result`, or false with the error in `why`.
/// @pre `result` is empty JSON; its string can have capacity.
bool call_function(registered_function const& f, context& c, value_view args, value& result,
                   failure& why) noexcept;

/// @pre Called in a catch block.
failure failure_of_current_exception();

/// Resolves the per-worker values in the arguments, calls the function on this thread, and stores
/// the value that it builds. Sets `ok`, and `result` or `why`.
void run_job(job& j, context& c) noexcept;

}  // namespace muster
