// A session without handles of values: schedules calls and delivers their outcomes.
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

/// The end of one call. The views and the pointer are valid only while the handler runs.
struct outcome {
  /// Number that identifies the call; see session::schedule.
  std::uint64_t token = 0;
  /// Result of the call, if `failure` is null.
  value_view value;
  /// Reason of the failure, or null.
  muster::failure const* failure = nullptr;

  /// Returns true if the call succeeded.
  bool ok() const noexcept { return failure == nullptr; }
};

/// Receives the outcome of a call, on the stream thread.
using outcome_handler = std::function<void(outcome const&)>;

/// Number of a function name within one session.
enum class function_number : std::uint32_t {};

/// A session that schedules calls of named functions and delivers their outcomes to handlers.
///
/// @code
/// muster::session s({.server = "127.0.0.1:8476"});
/// std::future<int> sum = s.call<int>("add", 1, 2);
/// s.wait_all();
/// @endcode
///
/// Calls run at least once, finish once, and run in any order. One thread of the library, the
/// stream thread, serves all sessions of the process. Handlers run on it, so they must be short. A
/// handler that throws ends the session. Handlers may schedule calls, which needs no thread switch.
/// Members may be called from any thread unless documented otherwise.
class session {
 public:
  /// Starts connecting and returns at once.
  /// @param options  the server, name, limits and times
  /// @param on_outcome  receives the outcomes of calls scheduled with a token; may be empty if only
  ///   handlers and futures are used
  explicit session(session_options options, outcome_handler on_outcome = {});
  /// Cancels unfinished calls, unless close() was called. Must not run on the stream thread.
  ~session();
  session(session const&) = delete;
  session& operator=(session const&) = delete;

  /// Waits until the server has opened the session. Not required before scheduling.
  /// @throws session_error  the server's reason, or no answer within
  ///   session_options::connect_timeout
  void wait_open();
  /// Returns the session's ID, "job_…", as REST shows it. Precondition: wait_open() has returned.
  std::string id() const;

  /// Returns the number of a function name, the same for equal names. Keep it to avoid the lookup.
  /// @param name  name of the function
  function_number function(std::string_view name);
  /// Returns the number of a function whose calls are displayed under another name; see
  /// closure_options::display_name. A session can have up to 65,536 display names.
  /// @param name  name of the function
  /// @param display_name  name to show
  /// @param callable  SHA-256 of the callable, 64 hexadecimal digits; may be empty
  /// @throws std::invalid_argument  a name is invalid, or there are too many
  function_number function(std::string_view name, std::string_view display_name,
                           std::string_view callable = {});

  /// Schedules a call. Blocks while session_options::pending_max calls or pending_bytes_max bytes
  /// wait to be sent. Never blocks on the stream thread; schedule about one call per outcome there.
  /// @param f  number of the function
  /// @param args  encoded arguments
  /// @param token  returned with the outcome; below 2^63
  /// @throws session_error  the session has ended
  /// @throws std::invalid_argument  the arguments are too large
  void schedule(function_number f, value_view args, std::uint64_t token);
  /// Schedules a call, or returns false where schedule would block.
  /// @param f  number of the function
  /// @param args  encoded arguments
  /// @param token  returned with the outcome; below 2^63
  [[nodiscard]] bool try_schedule(function_number f, value_view args, std::uint64_t token);
  /// Schedules several calls with the same arguments while locking once.
  /// @param f  number of the function
  /// @param args  encoded arguments
  /// @param first_token  token of the first call; each further token is one higher
  /// @param count  number of calls
  void schedule_many(function_number f, value_view args, std::uint64_t first_token,
                     std::size_t count);
  /// Schedules a call with its own handler.
  /// @param f  number of the function
  /// @param args  encoded arguments
  /// @param done  called exactly once; with a DEPENDENCY_LOST failure if the session ends first
  void schedule(function_number f, value_view args, outcome_handler done);

  /// Calls a function with JSON arguments.
  /// @param name  name of the function
  /// @param args  JSON arguments; the last of them can be named (keyword.hpp)
  /// @return a future that throws closure_error if the call fails
  template <class Result, class... Args>
  std::future<Result> call(std::string_view name, Args const&... args) {
    auto promise = std::make_shared<std::promise<Result>>();
    auto future = promise->get_future();
    detail::blob_contents contents;  // kept until the call has ended
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

  /// Waits until all scheduled calls have been handed to the transport. Must not run on the stream
  /// thread.
  /// @param timeout  the longest wait
  /// @return false if the time passed or the session has ended
  bool flush(std::chrono::milliseconds timeout);
  /// Waits until all scheduled calls have their outcome. Must not run on the stream thread.
  /// @param timeout  the longest wait
  /// @return false if the time passed or the session ended first
  bool wait_all(std::chrono::milliseconds timeout = std::chrono::hours(24));

  /// Cancels queued calls and asks running calls to stop. Every call still gets its outcome.
  void cancel();
  /// Waits for the remaining outcomes and ends the session; no calls can be scheduled afterwards.
  /// Must not run on the stream thread.
  /// @param timeout  the longest wait
  /// @return an empty string after an orderly end, otherwise the reason
  std::string close(std::chrono::milliseconds timeout = std::chrono::hours(24));

  /// Returns counters of the session.
  session_stats stats() const;

 private:
  class stream;
  std::shared_ptr<client_engine> engine_;  // outlives the stream
  std::shared_ptr<stream> stream_;
};

}  // namespace muster
