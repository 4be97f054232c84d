// Options of a coordination_agent, and the types of its results.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "muster/coordination_error.hpp"
#include "muster/tls_options.hpp"

namespace muster {

/// Options of a coordination_agent.
struct coordination_options {
  /// Address of the cluster's port, "host:port".
  std::string server = "127.0.0.1:8476";
  /// TLS settings; plaintext if unset. Requires a cluster port with `agents=tls`.
  tls_options tls{};
  /// Token sent with every call; if empty, it is read from MUSTER_TOKEN or MUSTER_TOKEN_FILE.
  std::string token{};
  /// Number of this task in the cluster, from 0, in the declared order of the jobs.
  std::uint32_t task = 0;
  /// Distinguishes this process from earlier processes of the same task. 0 selects a random number.
  /// Applies only to the first connect(); later calls use a random number.
  std::uint64_t incarnation = 0;

  /// Time without an answer from the service after which the agent fails. The agent sends two
  /// heartbeats within this time, or within the cluster's heartbeat timeout if that is shorter.
  std::chrono::milliseconds heartbeat_timeout{100'000};
  /// Maximum time that connect() waits for the service and for all tasks to register.
  std::chrono::milliseconds connect_timeout{300'000};
  /// Maximum time that shutdown() waits for other tasks, if all tasks leave together.
  std::chrono::milliseconds shutdown_timeout{300'000};
  /// Time limit of calls that do not wait for other tasks.
  std::chrono::milliseconds call_timeout{10'000};
  /// Interval at which a watch polls for changes.
  std::chrono::milliseconds watch_interval{100};

  /// Called with the error that ends a run, once for each connect(). The run ends if a task fails,
  /// reports an error or is restarted, or if the service is unavailable. The function is called on
  /// a library thread, so it must be short, and must not throw or call members of the agent that
  /// wait.
  std::function<void(agent_error const&)> on_error{};
};

/// State of an agent, as known to the agent itself.
enum class agent_state : std::uint8_t { idle, connecting, connected, failed, shut_down };

/// State of a task, as known to the service.
enum class task_state : std::uint8_t { disconnected = 2, connected = 3, error = 4 };

/// A task's status, as known to the service.
struct task_status {
  /// Task number.
  std::uint32_t task = 0;
  /// Task state.
  task_state state = task_state::disconnected;
  /// Incarnation of the task; 0 if it has never registered.
  std::uint64_t incarnation = 0;
  /// Error code, if the task has failed.
  std::optional<coordination_code> error{};
  /// Error message.
  std::string message{};
};

/// Snapshot of all tasks of the cluster.
struct task_list {
  /// The tasks, ordered by task number.
  std::vector<task_status> tasks;
  /// Increases with every change.
  std::int64_t version = 0;
};

/// A connected task.
struct live_task {
  /// Task number.
  std::uint32_t task = 0;
  /// Current incarnation of the task.
  std::uint64_t incarnation = 0;
  /// Compares all fields.
  bool operator==(live_task const&) const = default;
};

/// A key with its value.
struct key_value {
  /// Key path.
  std::string key;
  /// Value of the key, arbitrary bytes.
  std::string value;
  /// Compares all fields.
  bool operator==(key_value const&) const = default;
};

/// A key change that a watch reports.
struct key_change {
  /// Key path.
  std::string key;
  /// The new value, or nothing if the key was deleted.
  std::optional<std::string> value;
};

}  // namespace muster
