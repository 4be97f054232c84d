// The context of a running function: information about its call, cancellation and progress reports.
#pragma once

#include <any>
#include <boost/json/fwd.hpp>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "muster/log.hpp"

namespace muster {

/// The worker's identity in the cluster, as assigned by the server.
struct worker_identity {
  /// The worker's job name, for example "worker".
  std::string job;
  /// Index of the worker in its job.
  std::uint32_t index = 0;
  /// Maximum number of calls that the worker runs at the same time.
  std::uint32_t slots = 0;
  /// Maximum number of unanswered calls assigned to the worker.
  std::uint32_t credits = 0;
  /// Distinguishes this process from earlier processes with the same job and index.
  std::uint64_t incarnation = 0;
  /// Server address, "host:port".
  std::string server;
  /// Server version.
  std::string server_version;
};

/// Access to per-worker values. Used by the library; see per_worker.hpp.
struct per_worker_link {
  /// Returns the object that the worker stores under `handle`, or an empty std::any.
  std::function<std::any(std::uint64_t handle)> find;
  /// Receives the object that a builder function returns; null for other functions.
  std::any* keep = nullptr;
  /// Replaces handles in parsed arguments with the JSON values that the worker stores. Throws
  /// function_error of kind INPUT.
  std::function<void(boost::json::value& arguments)> resolve{};
};

/// Standard output or standard error of a program.
enum class output_stream { standard_output, standard_error };

/// Receives the reports that a function makes through its context. Members may be called from any
/// thread.
class reporter {
 public:
  virtual ~reporter() = default;
  /// Adds lines to the call's log; see context::log.
  /// @param level  the severity
  /// @param text  one or more lines
  virtual void log(log_level level, std::string_view text) = 0;
  /// Adds program output to the call's log; see context::output.
  /// @param from  the stream that the program wrote to
  /// @param text  one or more lines
  virtual void output(output_stream from, std::string_view text) = 0;
  /// Reports progress; see context::progress.
  /// @param fraction  from 0 to 1
  /// @param text  a short description
  virtual void progress(double fraction, std::string_view text) = 0;
};

/// The call that a function executes, its cancellation and its reports.
///
/// Created by the library and valid during the call. The members cancelled(), log(), output() and
/// progress() may be called from any thread; all other members must be called on the function's
/// thread.
///
/// @code
/// w.function("train", [](muster::context& c, int steps) {
///   for (int i = 0; i < steps && !c.cancelled(); ++i) c.progress(double(i) / steps);
/// });
/// @endcode
class context {
 public:
  /// Constructs the context of a call. Used by the library and by function tests.
  /// @param worker  the worker's identity; must outlive this object
  /// @param closure  number that the server assigned to the call
  /// @param attempt  number of the attempt, from 1
  /// @param stop  stop token of the call, stopped on cancellation
  /// @param reports  receives reports; if null, reports are dropped
  context(worker_identity const& worker, std::uint64_t closure, std::uint32_t attempt,
          std::stop_token stop, reporter* reports = nullptr)
      : worker_(&worker),
        closure_(closure),
        attempt_(attempt),
        stop_(std::move(stop)),
        reports_(reports) {}

  /// Returns the number that the server assigned to the call.
  std::uint64_t closure() const noexcept { return closure_; }
  /// Returns the attempt number, from 1. A call is retried if its worker was lost.
  std::uint32_t attempt() const noexcept { return attempt_; }

  /// Returns the worker's identity in the cluster.
  worker_identity const& worker() const noexcept { return *worker_; }
  /// Returns the worker's job name, for example "worker".
  std::string const& job() const noexcept { return worker_->job; }
  /// Returns the worker's index in its job.
  std::uint32_t index() const noexcept { return worker_->index; }
  /// Returns the version of the connected server.
  std::string const& server_version() const noexcept { return worker_->server_version; }

  /// Returns the number of workers in the job, for sharding by index():
  /// coordinator_options::num_workers if set, otherwise the number that the cluster declares,
  /// otherwise the highest known worker index plus one. The number does not change when workers
  /// connect or disconnect, or when a per-worker value is rebuilt.
  std::uint32_t num_workers() const noexcept { return workers_; }
  /// Returns the access to per-worker values, or null. Used by the library.
  per_worker_link const* per_worker() const noexcept { return link_; }
  /// Sets the number of workers and the access to per-worker values. Used by the library.
  /// @param workers  the number of workers in the job
  /// @param link  the access, or null
  void set_environment(std::uint32_t workers, per_worker_link const* link) {
    workers_ = workers;
    link_ = link;
  }

  /// Returns true if the call was cancelled, or if the connection was lost and the result will be
  /// discarded. A long function should call cancelled() regularly, or wait with stop_token(). After
  /// cancellation, the function can return or throw anything.
  bool cancelled() const noexcept { return stop_.stop_requested(); }
  /// Returns a token that is stopped when the call is cancelled. In a quick function, the token is
  /// never stopped.
  std::stop_token const& stop_token() const noexcept { return stop_; }

  /// Adds lines to the call's log, which `muster logs`, REST and the dashboard show while the call
  /// runs. Returns without waiting. Lines arrive in order and before the result. While 1 MiB of the
  /// log is waiting to be sent, further lines are dropped, and a later line reports their number. A
  /// line longer than 8 KiB is truncated.
  /// @param level  the severity
  /// @param text  one or more lines
  void log(log_level level, std::string_view text) {
    if (reports_) reports_->log(level, text);
  }
  /// Adds lines of level INFO to the call's log.
  /// @param text  one or more lines
  void log(std::string_view text) { log(log_level::info, text); }
  /// Adds the output of a program that the function runs to the call's log; see log().
  /// @param from  the stream that the program wrote to
  /// @param text  one or more lines
  void output(output_stream from, std::string_view text) {
    if (reports_) reports_->output(from, text);
  }
  /// Reports the function's progress. Frequent calls are cheap: only the latest report is sent, at
  /// most ten times per second.
  /// @param fraction  from 0 to 1
  /// @param text  a short description
  void progress(double fraction, std::string_view text = {}) {
    if (reports_) reports_->progress(fraction, text);
  }

 private:
  worker_identity const* worker_;
  std::uint64_t closure_;
  std::uint32_t attempt_;
  std::stop_token stop_;
  std::uint32_t workers_ = 0;
  per_worker_link const* link_ = nullptr;
  reporter* reports_;
};

}  // namespace muster
