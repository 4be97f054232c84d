// A session that schedules calls and delivers their outcomes to handlers.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "muster/closure_error.hpp"
#include "muster/detail/blob_content.hpp"
#include "muster/json.hpp"
#include "muster/keyword.hpp"
#include "muster/session_options.hpp"
#include "muster/value.hpp"

namespace muster {

class client_engine;

/// The outcome of one call. Its views and pointer are valid only while the handler runs.
struct outcome {
  /// Token of the call; see session::schedule.
  std::uint64_t token = 0;
  /// Result of the call, if `failure` is null.
  value_view value;
  /// Cause of the failure, or null.
  muster::failure const* failure = nullptr;

  /// Returns true if the call succeeded.
  bool ok() const noexcept { return failure == nullptr; }
};

/// Receives the outcome of a call. Called on the stream thread.
using outcome_handler = std::function<void(outcome const&)>;

/// Identifies a function name within one session.
enum class function_number : std::uint32_t {};

/// A session that schedules calls of named functions and delivers their outcomes to handlers.
///
/// @code
/// muster::session s({.server = "127.0.0.1:8476"});
/// std::future<int> sum = s.call<int>("add", 1, 2);
/// s.wait_all();
/// @endcode
///
/// Each call runs at least once and finishes once. Calls run in any order. One library thread, the
/// stream thread, serves all sessions of the process and runs the handlers, so handlers must be
/// short. If a handler throws, the session ends. Handlers can schedule calls without a thread
/// switch. Members may be called from any thread unless documented otherwise.
class session {
 public:
  /// Starts connecting and returns immediately.
  /// @param options  session options
  /// @param on_outcome  receives the outcomes of calls scheduled with a token; can be empty if no
  ///   call has a token
  explicit session(session_options options, outcome_handler on_outcome = {});
  /// Cancels unfinished calls, unless close() was called. Must not be called on the stream thread.
  ~session();
  session(session const&) = delete;
  session& operator=(session const&) = delete;

  /// Waits until the server has opened the session. Calling it is optional.
  /// @throws session_error  the server refused the session, or did not answer within
  ///   session_options::connect_timeout
  void wait_open();
  /// Returns the session's ID, "job_…", as shown by REST. Precondition: wait_open() has returned.
  std::string id() const;

  /// Returns the number of a function name. Equal names have equal numbers.
  /// @param name  function name
  function_number function(std::string_view name);
  /// Returns a function number whose calls are shown under a display name; see
  /// closure_options::display_name.
  /// @param name  function name
  /// @param display_name  name to show
  /// @param callable  SHA-256 of the callable, 64 hexadecimal digits; can be empty
  /// @throws std::invalid_argument  a name is invalid, or the session has 65,536 display names
  function_number function(std::string_view name, std::string_view display_name,
                           std::string_view callable = {});

  /// Schedules a call. Blocks while session_options::pending_max calls or pending_bytes_max bytes
  /// are waiting to be sent. Never blocks on the stream thread, where handlers should schedule
  /// about one call per outcome.
  /// @param f  number of the function
  /// @param args  encoded arguments
  /// @param token  returned with the outcome; below 2^63
  /// @throws session_error  the session has ended
  /// @throws std::invalid_argument  the arguments are too large
  void schedule(function_number f, value_view args, std::uint64_t token);
  /// Schedules a call, or returns false if schedule would block.
  /// @param f  number of the function
  /// @param args  encoded arguments
  /// @param token  returned with the outcome; below 2^63
  [[nodiscard]] bool try_schedule(function_number f, value_view args, std::uint64_t token);
  /// Schedules several calls with the same arguments, locking only once.
  /// @param f  number of the function
  /// @param args  encoded arguments
  /// @param first_token  token of the first call; each subsequent call's token is one higher
  /// @param count  number of calls
  void schedule_many(function_number f, value_view args, std::uint64_t first_token,
                     std::size_t count);
  /// Schedules a call with its own handler.
  /// @param f  number of the function
  /// @param args  encoded arguments
  /// @param done  called exactly once; receives a DEPENDENCY_LOST failure if the session ends first
  void schedule(function_number f, value_view args, outcome_handler done);

  /// Calls a function with JSON arguments.
  /// @param name  function name
  /// @param args  JSON arguments; the last arguments can be passed by name (keyword.hpp)
  /// @return a future that throws closure_error if the call fails
  template <class Result, class... Args>
  std::future<Result> call(std::string_view name, Args const&... args) {
    auto promise = std::make_shared<std::promise<Result>>();
    auto future = promise->get_future();
    detail::blob_contents contents;  // blobs kept until the call has finished
    std::string text;
    {
      detail::blob_recording_scope const here(contents);
      text = to_json(detail::json_arguments(args...));
    }
    schedule(function(name), {text, encoding::json}, [promise, contents](outcome const& o) {
      try {
        if (!o.ok()) throw closure_error(*o.failure);
        if constexpr (std::is_void_v<Result>)
          promise->set_value();
        else
          promise->set_value(detail::made_of<Result>(from_json(o.value)));
      } catch (...) {
        promise->set_exception(std::current_exception());
      }
    });
    return future;
  }

  /// Waits until all scheduled calls have been passed to the transport. Must not be called on the
  /// stream thread.
  /// @param timeout  maximum time to wait
  /// @return false on timeout or if the session has ended
  bool flush(std::chrono::milliseconds timeout);
  /// Waits until all scheduled calls have an outcome. Must not be called on the stream thread.
  /// @param timeout  maximum time to wait
  /// @return false on timeout or if the session ended first
  bool wait_all(std::chrono::milliseconds timeout = std::chrono::hours(24));

  /// Cancels queued calls and asks running calls to stop. Every call still produces an outcome.
  void cancel();
  /// Waits for the remaining outcomes and ends the session. No calls can be scheduled afterwards.
  /// Must not be called on the stream thread.
  /// @param timeout  maximum time to wait
  /// @return an empty string if the session ended normally, otherwise the reason
  std::string close(std::chrono::milliseconds timeout = std::chrono::hours(24));

  /// Returns counters of the session.
  session_stats stats() const;

 private:
  class stream;
  std::shared_ptr<client_engine> engine_;  // the engine must outlive the stream
  std::shared_ptr<stream> stream_;
};

}  // namespace muster
