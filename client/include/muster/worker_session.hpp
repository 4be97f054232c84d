// Sessions of worker functions, and the preparation of a job by its chief.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "muster/cluster_coordinator.hpp"
#include "muster/session_config.hpp"

namespace muster {

/// A coordinator for a worker function, with options that select the function's own task. Must be
/// used by only one thread.
class worker_session {
 public:
  /// Connects to the server.
  /// @param o  coordinator options
  /// @param task  options that select the task; if unset, the whole cluster
  /// @param config  configuration of the session
  worker_session(coordinator_options o, closure_options task, session_config config);

  /// Returns the coordinator, which schedules calls on any task.
  cluster_coordinator& coordinator() { return coordinator_; }
  /// Returns the coordinator with options that select this function's own task.
  scheduling on_own_task() { return coordinator_.with(task_); }
  /// Returns the configuration of the session.
  session_config const& config() const { return config_; }

 private:
  cluster_coordinator coordinator_;
  closure_options task_;
  session_config config_;
};

/// Functions that prepare a job before its steps can run.
struct scaffold {
  /// Initialises the job; called by the chief, once for each session.
  std::function<void(worker_session&)> init{};
  /// Returns true if the job has been prepared; the other tasks poll this function. If empty, the
  /// other tasks do not wait.
  std::function<bool(worker_session&)> ready{};
  /// Loads a checkpoint, if one is specified. Called by the chief. `from` is the specified
  /// directory or file. Returns false if the directory has no checkpoint; `init` is then called.
  std::function<bool(worker_session&, std::string const& from)> restore{};
};

/// The checkpoint from which a job continues: the newest in a directory, or one file. If neither is
/// set, the job starts without a checkpoint.
struct checkpoint {
  /// Directory whose newest checkpoint is loaded.
  std::string directory{}, file{};  ///< checkpoint file; must be empty if `directory` is set
  /// Returns true if a directory or a file is set.
  bool named() const { return !directory.empty() || !file.empty(); }
};

/// Creates the session of a worker function; see worker_context::make_session_creator.
struct session_creator {
  /// Whether this task prepares the job.
  enum class kind { chief, waiting };
  /// Whether this task prepares the job or waits for the chief.
  kind role = kind::chief;
  /// Target of the task; empty outside a cluster.
  std::string master{};
  /// Configuration of the session.
  session_config config{};
  /// Functions that prepare the job.
  muster::scaffold scaffold{};
  /// Checkpoint to load; used only by the chief.
  muster::checkpoint checkpoint{};
  /// Coordinator options; max_wait replaces connect_timeout.
  coordinator_options server{};
  /// Options that select the task.
  closure_options task{};
  /// Maximum time to wait for the server and the chief together.
  std::chrono::milliseconds max_wait{7'200'000};

  /// Connects, then prepares the job or waits until the chief has prepared it. Logs the role and
  /// the configuration.
  /// @throws cluster_error invalid: the checkpoint has both a directory and a file, or
  /// scaffold::restore is missing; missing: restore returned false for a file
  /// @throws unavailable_error  the server was unreachable for max_wait
  /// @throws wait_timeout  the job was not prepared within max_wait
  std::unique_ptr<worker_session> create() const;
};

}  // namespace muster
