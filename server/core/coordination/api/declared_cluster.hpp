// Declaration of a cluster: roles ("jobs" in TensorFlow) with sizes, timeouts and rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/enum_names.hpp"
#include "server/core/api/time.hpp"
#include "server/core/coordination/api/fault.hpp"

namespace muster::core::coordination {

using muster::name;

struct job_spec {
  std::string name;
  std::uint32_t tasks = 0;
  /// Whether tasks can leave and return without causing an error for other tasks.
  bool recoverable = false;
  bool operator==(job_spec const&) const = default;
};

enum class error_delivery : std::uint8_t {
  /// `heartbeat` if sockets outlive the server process (limits::outlives), otherwise `poll`.
  automatic = 0,
  poll = 1,  ///< parked polls are answered immediately, and fail if the server exits
  /// Agents survive the cancellation of their parked polls; their next heartbeat is refused.
  heartbeat = 2,
};
constexpr auto enum_names(error_delivery) {
  using enum error_delivery;
  return enumerators<error_delivery>(automatic, "auto", poll, "poll", heartbeat, "heartbeat");
}

/// Protocol that agents use if the server uses TLS. JAX and TensorFlow support only plaintext.
enum class agent_wire : std::uint8_t { plaintext = 0, tls = 1 };
constexpr auto enum_names(agent_wire) {
  using enum agent_wire;
  return enumerators<agent_wire>(plaintext, "plaintext", tls, "tls");
}

/// Torch version of TCPStore clients that do not report their version. `a` means 1.13 or 2.0, and
/// `b` means 2.1.
enum class torch_era : std::uint8_t { a = 0, b = 1 };
constexpr auto enum_names(torch_era) {
  using enum torch_era;
  return enumerators<torch_era>(a, "A", b, "B");
}

struct cluster_spec {
  std::string name = "default";
  std::string service_type = "standalone";
  /// If empty, the cluster has only closure workers, which can join and leave.
  std::vector<job_spec> jobs = {};

  /// Must not be shorter than the agents' own timeout; agents send two heartbeats per timeout.
  /// JAX's default is 100 s.
  duration heartbeat_timeout = std::chrono::seconds(100);
  /// A process counts as dead if it sends no message within this time after its connection was
  /// closed. With error_delivery::poll, only connections with a parked poll count. Zero disables
  /// this check.
  duration connection_grace = std::chrono::seconds(3);
  error_delivery errors = error_delivery::automatic;
  agent_wire agents = agent_wire::plaintext;
  duration register_timeout = std::chrono::minutes(60);
  /// If zero, tasks leave without a barrier.
  duration shutdown_timeout = std::chrono::minutes(5);
  bool register_barrier = true;
  bool recoverable = false;
  /// Whether a task that timed out can register again with a new incarnation. If `renew` is set,
  /// the task can always do so, and thereby starts a new generation.
  bool allow_reconnect = false;
  /// Whether a registration with a new incarnation after a failed or finished run starts a new
  /// generation.
  bool renew = true;
  /// A living task that delays a barrier for longer than this is displayed as LATE.
  duration stuck_after = std::chrono::seconds(60);

  /// Port of the TCPStore; if 0, the system selects a port. If not set, the cluster has no
  /// TCPStore, unless the server's settings enable a TCPStore for the main cluster.
  std::optional<std::uint16_t> torch_port = {};
  torch_era torch = torch_era::a;

  /// Roles whose workers hold state; see config::stateful_jobs. If not set, the server's setting
  /// applies.
  std::optional<std::vector<std::string>> stateful_jobs = {};

  task_index size() const;
  /// Returns the index of task `id` in the role, or `no_task`. If `job` is empty, or is
  /// "jax_worker" and no role has that name, `id` counts the tasks of the whole cluster, as in JAX.
  task_index find(std::string_view job, std::int64_t id) const;
  /// Returns the index of the task's role in `jobs`, and the task's id in the role. REQUIRES: task
  /// < size().
  std::pair<std::size_t, std::uint32_t> place(task_index task) const;
  /// Returns the role's first task index and its last task index plus one. REQUIRES: job <
  /// jobs.size().
  std::pair<task_index, task_index> tasks_of(std::size_t job) const;
  /// Example: "/job:worker/task:3". REQUIRES: task < size().
  std::string task_name(task_index task) const;

  bool operator==(cluster_spec const&) const = default;
};

/// Returns INVALID_ARGUMENT, with the field and the limit, if the declaration is invalid.
status validate(cluster_spec const& spec);

}  // namespace muster::core::coordination
