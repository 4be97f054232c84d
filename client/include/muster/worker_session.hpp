// A worker function's way to schedule closures on its own task (or, for the whole cluster, on any),
// and who makes it: the chief's creator prepares the job, the others' wait until that is done.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "muster/cluster_coordinator.hpp"
#include "muster/session_config.hpp"

namespace muster {

/// One thread.
class worker_session {
 public:
  worker_session(coordinator_options o, closure_options task, session_config config);

  cluster_coordinator& coordinator() { return coordinator_; }
  /// schedule<R>("f", …) on the own task.
  scheduling on_own_task() { return coordinator_.with(task_); }
  session_config const& config() const { return config_; }

 private:
  cluster_coordinator coordinator_;
  closure_options task_;
  session_config config_;
};

/// What a job needs before its steps can run.
struct scaffold {
  /// The chief does it, once for each session.
  std::function<void(worker_session&)> init{};
  /// Whether it was done; the others ask again and again. Empty: nothing to wait for.
  std::function<bool(worker_session&)> ready{};
  /// The chief does it where a checkpoint is named: loads what is in `from`, a directory or a file
  /// as it was given. False: there is none in the directory, so `init` runs.
  std::function<bool(worker_session&, std::string const& from)> restore{};
};

/// Where a job may begin again: a directory whose newest checkpoint is meant, or one file. Both
/// empty: from the beginning.
struct checkpoint {
  std::string directory{}, file{};
  bool named() const { return !directory.empty() || !file.empty(); }
};

struct session_creator {
  enum class kind { chief, waiting };
  kind role = kind::chief;
  std::string master{};  // of the task, "" when alone
  session_config config{};
  muster::scaffold scaffold{};
  muster::checkpoint checkpoint{};  // only the chief looks at it
  coordinator_options server{};
  closure_options task{};
  /// For the server, whatever server.connect_timeout says, and for the chief, both together.
  std::chrono::milliseconds max_wait{7'200'000};

  /// Connects, then as its kind says; who does what with which configuration is a line of the log.
  /// Errors: cluster_error: a checkpoint of both kinds, without
  /// `restore`, or (missing) a file that restore did not take; unavailable_error (no server within
  /// max_wait),
  /// whatever init, ready and restore throw, wait_timeout: not ready within max_wait.
  std::unique_ptr<worker_session> create() const;
};

}  // namespace muster
