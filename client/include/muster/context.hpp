// The context of a running function: its call, cancellation, and reports of progress.
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

/// The worker's place in the cluster, as the server assigned it.
struct worker_identity {
  /// Job of the worker, for example "worker".
  std::string job;
  /// Index of the worker in its job.
  std::uint32_t index = 0;
  /// Number of calls that the worker runs at the same time.
  std::uint32_t slots = 0;
  /// Maximum number of calls that the worker holds unanswered.
  std::uint32_t credits = 0;
  /// Number that distinguishes this process from earlier ones with the same job and index.
  std::uint64_t incarnation = 0;
  /// Address of the server, "host:port".
  std::string server;
  /// Version of the server.
  std::string server_version;
};

/// Access to per-worker values for a function; used by the library. See per_worker.hpp.
struct per_worker_link {
  /// Returns the object that the worker keeps under `handle`, or an empty std::any.
  std::function<std::any(std::uint64_t handle)> find;
  /// Receives the object that a builder returns; null for other functions.
  std::any* keep = nullptr;
  /// Replaces handles in parsed arguments with the JSON values that the worker keeps. Throws
  /// function_error of kind INPUT.
  std::function<void(boost::json::value& arguments)> resolve{};
};

/// Output stream of a program.
enum class output_stream { standard_output, standard_error };

/// Receives the reports of a context. Members may be called from any thread.
class reporter {
 public:
  virtual ~reporter() = default;
  /// Adds lines to the log of the call; see context::log.
  /// @param level  the severity
  /// @param text  one or more lines
  virtual void log(log_level level, std::string_view text) = 0;
  /// Adds output of a program to the log of the call; see context::output.
  /// @param from  the stream that the program wrote to
  /// @param text  one or more lines
  virtual void output(output_stream from, std::string_view text) = 0;
  /// Reports progress; see context::progress.
  /// @param fraction  from 0 to 1
  /// @param text  a short description
  virtual void progress(double fraction, std::string_view text) = 0;
};

/// Information about the call that a function executes, its cancellation, and reports of progress.
///
/// Created by the library and valid during the call. Used by the thread that runs the function;
/// cancelled(), log(), output() and progress() may be called from any thread.
///
/// @code
/// w.function("train", [](muster::context& c, int steps) {
///   for (int i = 0; i < steps && !c.cancelled(); ++i) c.progress(double(i) / steps);
/// });
/// @endcode
class context {
 public:
  /// Constructs the context of a call; used by the library and by tests of functions.
  /// @param worker  the worker's place in the cluster; must outlive this object
  /// @param closure  the server's number of the call
  /// @param attempt  number of the attempt, from 1
  /// @param stop  is stopped when the call is cancelled
  /// @param reports  receives reports; null: they are dropped
  context(worker_identity const& worker, std::uint64_t closure, std::uint32_t attempt,
          std::stop_token stop, reporter* reports = nullptr)
      : worker_(&worker),
        closure_(closure),
        attempt_(attempt),
        stop_(std::move(stop)),
        reports_(reports) {}

  /// Returns the server's number of the call.
  std::uint64_t closure() const noexcept { return closure_; }
  /// Returns the number of the attempt, from 1. A call whose worker was lost is retried.
  std::uint32_t attempt() const noexcept { return attempt_; }

  /// Returns the worker's place in the cluster.
  worker_identity const& worker() const noexcept { return *worker_; }
  /// Returns the job of the worker, for example "worker".
  std::string const& job() const noexcept { return worker_->job; }
  /// Returns the worker's index in its job.
  std::uint32_t index() const noexcept { return worker_->index; }
  /// Returns the version of the server that the worker is connected to.
  std::string const& server_version() const noexcept { return worker_->server_version; }

  /// Returns the number of workers in the job, for sharding by index(). It does not depend on how
  /// many are connected: it is coordinator_options::num_workers if set, otherwise the cluster's
  /// declaration, otherwise the highest index known to the server plus one. A per-worker value that
  /// is rebuilt on its task gets the same number.
  std::uint32_t num_workers() const noexcept { return workers_; }
  /// Returns the access to per-worker values, or null if the call uses none; used by the library.
  per_worker_link const* per_worker() const noexcept { return link_; }
  /// Sets the number of workers and the access to per-worker values; used by the library.
  /// @param workers  the number of workers in the job
  /// @param link  the access, or null
  void surround(std::uint32_t workers, per_worker_link const* link) {
    workers_ = workers;
    link_ = link;
  }

  /// Returns true if the call was cancelled, or if the connection to the server was lost and the
  /// result will be discarded. A long function should check this regularly or wait with
  /// stop_token(). It can then return or throw anything.
  bool cancelled() const noexcept { return stop_.stop_requested(); }
  /// Returns a token that is stopped when the call is cancelled; never in a quick function.
  std::stop_token const& stop_token() const noexcept { return stop_; }

  /// Adds lines to the call's log, which `muster logs`, REST and the dashboard show while the call
  /// runs. Returns without waiting. Lines arrive in order and before the result. While 1 MiB of a
  /// call's log waits to be sent, further lines are dropped and replaced by a line with their
  /// number. A line longer than 8 KiB is truncated.
  /// @param level  the severity
  /// @param text  one or more lines
  void log(log_level level, std::string_view text) {
    if (reports_) reports_->log(level, text);
  }
  /// Adds lines of level INFO to the call's log.
  /// @param text  one or more lines
  void log(std::string_view text) { log(log_level::info, text); }
  /// Adds the output of a program that the function runs to the call's log, as log() does.
  /// @param from  the stream that the program wrote to
  /// @param text  one or more lines
  void output(output_stream from, std::string_view text) {
    if (reports_) reports_->output(from, text);
  }
  /// Reports the progress of the function. It can be called often: only the latest report is sent,
  /// at most ten times per second.
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
