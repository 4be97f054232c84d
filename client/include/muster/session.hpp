// A coordinator's session: schedules closures of named functions and gets their outcomes.
//
//   muster::session s({.server = "127.0.0.1:8476"});
//   std::future<int> sum = s.call<int>("add", 1, 2);
//   s.wait_all();
//
// Closures run at least once and finish once, in any order. One thread of the library serves all
// sessions of the process: the stream thread. Outcome handlers run there, must be short and not
// throw (that ends the session); they may schedule again, which costs no hop. Members may be called
// from any thread, except where a comment says otherwise.
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

/// The end of one closure. Views and pointer are valid during the handler's call.
struct outcome {
  std::uint64_t token = 0;
  value_view value;  // when failure is null
  muster::failure const* failure = nullptr;

  bool ok() const noexcept { return failure == nullptr; }
};

using outcome_handler = std::function<void(outcome const&)>;

/// Number of a function name on one session.
enum class function_number : std::uint32_t {};

class session {
 public:
  /// Starts connecting. `on_outcome` gets the outcomes of closures scheduled with a token; it may
  /// be empty when only handlers and futures are used.
  explicit session(session_options options, outcome_handler on_outcome = {});
  /// Cancels what is left if close() was not called. REQUIRES: not on the stream thread.
  ~session();
  session(session const&) = delete;
  session& operator=(session const&) = delete;

  /// Waits until the server has opened the session. Errors: session_error with the server's
  /// reason, or that it did not answer within options.connect_timeout. Not needed before schedule.
  void wait_open();
  /// "job_…", as REST shows it. REQUIRES: wait_open() returned.
  std::string id() const;

  /// The number of a name; the same for the same name. Costs a look-up, so keep it.
  function_number function(std::string_view name);
  /// The same for closures that are shown by what the function is to call; see closure_options. At
  /// most 65,536 on one session. Errors: std::invalid_argument.
  function_number function(std::string_view name, std::string_view display_name,
                           std::string_view callable = {});

  /// Schedules one closure; its outcome carries `token`, below 2^63. While `pending_max` closures
  /// or `pending_bytes_max` bytes wait to be sent, it blocks; on the stream thread it never does,
  /// there each outcome should schedule about one closure. Errors: session_error once the session
  /// has ended, std::invalid_argument (arguments too large).
  void schedule(function_number f, value_view args, std::uint64_t token);
  /// The same, but false instead of blocking, on every thread.
  [[nodiscard]] bool try_schedule(function_number f, value_view args, std::uint64_t token);
  /// `count` closures of the same arguments with tokens from `first_token` up; one lock for all.
  void schedule_many(function_number f, value_view args, std::uint64_t first_token,
                     std::size_t count);
  /// Schedules one closure with a handler of its own, called exactly once, with a DEPENDENCY_LOST
  /// failure if the session ends before.
  void schedule(function_number f, value_view args, outcome_handler done);

  /// Calls a function with JSON arguments, the last of them by name, perhaps (keyword.hpp). The
  /// future raises closure_error.
  template <class Result, class... Args>
  std::future<Result> call(std::string_view name, Args const&... args) {
    auto promise = std::make_shared<std::promise<Result>>();
    auto future = promise->get_future();
    detail::blob_contents contents;  // that the closure names stay until it has ended
    std::string text;
    {
      detail::contents_here const here(contents);
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

  /// Waits until everything scheduled was handed to the transport. False: not within `timeout`, or
  /// the session has ended.
  bool flush(std::chrono::milliseconds timeout);
  /// Waits until every closure scheduled has its outcome. False: not within `timeout`, or the
  /// session ended before. Both REQUIRE: not on the stream thread.
  bool wait_all(std::chrono::milliseconds timeout = std::chrono::hours(24));

  /// Cancels what is queued and asks what runs to stop; every closure still gets its outcome.
  void cancel();
  /// No more closures: waits for the remaining outcomes and ends the session. Returns the empty
  /// string after an orderly end, else the reason. REQUIRES: not on the stream thread.
  std::string close(std::chrono::milliseconds timeout = std::chrono::hours(24));

  /// What the session has scheduled and seen so far. Any thread.
  session_stats stats() const;

 private:
  class stream;
  std::shared_ptr<client_engine> engine_;  // outlives the stream
  std::shared_ptr<stream> stream_;
};

}  // namespace muster
