// What a cluster is declared to be: jobs with sizes, times, rules.
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
  bool recoverable = false;  ///< its tasks may come and go without an error for the others
  bool operator==(job_spec const&) const = default;
};

/// How tasks hear that the cluster has failed.
enum class error_delivery : std::uint8_t {
  automatic = 0,  ///< by heartbeat where the server outlives its process (limits::outlives), else
                  ///< by poll
  poll = 1,       ///< their parked polls are answered at once; these break when the process ends
  heartbeat = 2,  ///< polls are cancelled at once, which agents live on with; the next heartbeat is
                  ///< refused
};
constexpr auto enum_names(error_delivery) {
  using enum error_delivery;
  return enumerators<error_delivery>(automatic, "auto", poll, "poll", heartbeat, "heartbeat");
}

/// What its agents speak where the server speaks TLS: JAX and TensorFlow know plaintext only.
enum class agent_wire : std::uint8_t { plaintext = 0, tls = 1 };
constexpr auto enum_names(agent_wire) {
  using enum agent_wire;
  return enumerators<agent_wire>(plaintext, "plaintext", tls, "tls");
}

/// Which torch they have who speak to its store and do not say: 1.13 and 2.0, or 2.1.
enum class torch_era : std::uint8_t { a = 0, b = 1 };
constexpr auto enum_names(torch_era) {
  using enum torch_era;
  return enumerators<torch_era>(a, "A", b, "B");
}

struct cluster_spec {
  std::string name = "default";
  /// Which service coordinates it. There is one.
  std::string service_type = "standalone";
  /// Empty: no agents, only closure workers, which may come and go.
  std::vector<job_spec> jobs = {};

  /// Agents beat twice as often as *their* timeout says: this must not be shorter than theirs
  /// (JAX: 100 s unless the program sets it).
  duration heartbeat_timeout = std::chrono::seconds(100);
  /// Nothing is heard of a task for this long after its connection was closed, while it polled for
  /// errors where these are told by poll: its process is dead, whatever heartbeat_timeout says.
  /// Zero: off.
  duration connection_grace = std::chrono::seconds(3);
  error_delivery errors = error_delivery::automatic;
  agent_wire agents = agent_wire::plaintext;
  duration register_timeout = std::chrono::minutes(60);
  /// Zero: leaving is not a barrier.
  duration shutdown_timeout = std::chrono::minutes(5);
  /// Registration answers when all tasks are there; otherwise at once.
  bool register_barrier = true;
  /// Tasks may die and come back; their errors are not told to the others.
  bool recoverable = false;
  /// A task that timed out may register again with a new incarnation. Where the cluster renews
  /// itself it may anyway: that starts a new generation.
  bool allow_reconnect = false;
  /// After a failed or finished run, a new incarnation's registration starts a new generation.
  bool renew = true;
  /// A task that beats but keeps a barrier waiting for longer is shown LATE.
  duration stuck_after = std::chrono::seconds(60);

  /// Where its store of torch.distributed is served, beside the coordination service; 0: on a port
  /// that the system picks. Unset: it has none, unless it is the main cluster and the server's
  /// settings say where.
  std::optional<std::uint16_t> torch_port = {};
  torch_era torch = torch_era::a;

  /// Of its closures: jobs whose workers hold state, see config::stateful_jobs. Unset: the
  /// server's.
  std::optional<std::vector<std::string>> stateful_jobs = {};

  task_index size() const;
  /// Dense index of job:id; `no_task` when there is none. An empty job means the whole cluster
  /// counted through, as JAX does; so does "jax_worker" unless a job has that name.
  task_index find(std::string_view job, std::int64_t id) const;
  /// Position in `jobs` of the task's job, and its id there. REQUIRES: task < size().
  std::pair<std::size_t, std::uint32_t> place(task_index task) const;
  /// First and one beyond the last of a job's tasks. REQUIRES: job < jobs.size().
  std::pair<task_index, task_index> tasks_of(std::size_t job) const;
  /// "/job:worker/task:3". REQUIRES: task < size().
  std::string task_name(task_index task) const;

  bool operator==(cluster_spec const&) const = default;
};

/// INVALID_ARGUMENT names the field and the limit.
status validate(cluster_spec const& spec);

}  // namespace muster::core::coordination
