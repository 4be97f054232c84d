// What a running function can learn about the closure it runs, how it learns that nobody waits for
// the result any more, and how it tells how far it is. Made by the library, valid during the call,
// used by the thread that runs the function; what reports may be called by any thread meanwhile.
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

/// The place of this worker in the cluster, as the server granted it.
struct worker_identity {
  std::string job;
  std::uint32_t index = 0;
  std::uint32_t slots = 0;
  std::uint32_t credits = 0;
  std::uint64_t incarnation = 0;
  std::string server;  // "host:port"
  std::string server_version;
};

/// What the library hands to a function that has to do with PerWorkerValues; see per_worker.hpp.
struct per_worker_link {
  std::function<std::any(std::uint64_t handle)> find;  // a kept object, or nothing
  std::any* keep = nullptr;                            // of a builder: where its object goes
  /// Puts kept JSON in place of the handles in parsed arguments. Errors: function_error INPUT.
  std::function<void(boost::json::value& arguments)> resolve{};
};

enum class output_stream { standard_output, standard_error };

/// Where a context's reports go. Any thread.
class reporter {
 public:
  virtual ~reporter() = default;
  virtual void log(log_level level, std::string_view text) = 0;
  virtual void output(output_stream from, std::string_view text) = 0;
  virtual void progress(double fraction, std::string_view text) = 0;
};

class context {
 public:
  /// `reports`: null for none.
  context(worker_identity const& worker, std::uint64_t closure, std::uint32_t attempt,
          std::stop_token stop, reporter* reports = nullptr)
      : worker_(&worker),
        closure_(closure),
        attempt_(attempt),
        stop_(std::move(stop)),
        reports_(reports) {}

  /// The number of the closure, the server's.
  std::uint64_t closure() const noexcept { return closure_; }
  /// 1 for the first attempt; a closure that lost its worker is tried again.
  std::uint32_t attempt() const noexcept { return attempt_; }

  worker_identity const& worker() const noexcept { return *worker_; }
  /// The job of the worker that executes it, such as "worker".
  std::string const& job() const noexcept { return worker_->job; }
  /// The worker's index in its job.
  std::uint32_t index() const noexcept { return worker_->index; }
  /// Of the server that the worker is connected to.
  std::string const& server_version() const noexcept { return worker_->server_version; }

  /// How many workers the task's job has, whoever is connected just now; with index() what sharding
  /// needs. As the coordinator has declared it (coordinator_options::num_workers), else as the
  /// cluster's declaration says, else the highest index that the server knows of and one. A
  /// PerWorkerValue that is built again on its task is told the same number.
  std::uint32_t num_workers() const noexcept { return workers_; }
  /// Null when the closure has nothing to do with PerWorkerValues. For the library.
  per_worker_link const* per_worker() const noexcept { return link_; }
  void surround(std::uint32_t workers, per_worker_link const* link) {
    workers_ = workers;
    link_ = link;
  }

  /// The closure was cancelled, or the server was lost and the result is void. A long function
  /// looks at this now and then, or waits with the token, and returns or throws anything.
  bool cancelled() const noexcept { return stop_.stop_requested(); }
  /// Never requests a stop in a quick function.
  std::stop_token const& stop_token() const noexcept { return stop_; }

  /// Adds to the closure's log, which `muster logs`, REST and the dashboard show while it runs: one
  /// line for each line of `text`. Returns at once. Lines come in order and before the result;
  /// those that there is no room for (1 MiB of a closure on its way) are dropped, and a line in
  /// their place says how many. A line longer than 8 KiB is cut.
  void log(log_level level, std::string_view text) {
    if (reports_) reports_->log(level, text);
  }
  /// A line of level INFO. See above.
  void log(std::string_view text) { log(log_level::info, text); }
  /// The same for what a program that the function runs has printed.
  void output(output_stream from, std::string_view text) {
    if (reports_) reports_->output(from, text);
  }
  /// How far the function is, from 0 to 1, with a few words. May be called as often as one likes:
  /// the newest is sent, at most ten times a second.
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
