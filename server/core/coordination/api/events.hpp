// Input events of the coordination core. Plain data, so that a run can be recorded and replayed.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "server/core/coordination/api/coordination_effects.hpp"
#include "server/core/coordination/api/coordination_facts.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"
#include "server/core/coordination/api/requests.hpp"

namespace muster::core::coordination {

/// Fails with INVALID_ARGUMENT (with the field), ALREADY_EXISTS or RESOURCE_EXHAUSTED. After
/// `stop`, fails with UNAVAILABLE.
struct create_cluster {
  cluster_spec spec;
};

/// Replaces the cluster's declaration, except its name. The new declaration takes effect
/// immediately if no task has registered and no call waits (keys are kept), or if the generation
/// has ended and can be renewed. Otherwise it takes effect with the next generation. Fails like
/// create_cluster. REQUIRES (also for the events below): the cluster exists.
struct redeclare_cluster {
  cluster_id cluster{};
  cluster_spec spec;
};

/// Ends the current generation in any state, and answers all parked calls. The next generation,
/// declared by `spec`, begins at the next tick; until then, registrations fail with UNAVAILABLE.
/// Fails like create_cluster.
struct renew_cluster {
  cluster_id cluster{};
  cluster_spec spec;
};

/// Fails the current generation with an error that is not attributed to a task. All tasks and
/// parked calls receive the error. If `refuses` is set, later calls fail with the same error until
/// the next generation, except registrations, heartbeats, polls, and calls that leave the cluster
/// or read task states. Sets `declared` to FAILED_PRECONDITION if no task is present or the
/// generation has ended. REQUIRES: `code` is an error.
struct fail_cluster {
  cluster_id cluster{};
  muster::code code = muster::code::aborted;
  std::string message;
  bool refuses = false;
};

/// The cluster listens on this port. The next server process tries this port first.
struct cluster_listens {
  cluster_id cluster{};
  std::uint16_t port = 0;
};

/// Restores a cluster from an earlier server process. Fails like create_cluster.
struct restore_cluster {
  restored_cluster what;
};

/// Answers all parked calls and removes the cluster. Fails with NOT_FOUND if the cluster does not
/// exist.
struct remove_cluster {
  std::string name;
};

/// A call to the coordination service. Consumed by the step. REQUIRES: the call id is new.
struct cluster_call {
  cluster_id cluster{};
  request what;
};

/// The caller has disconnected, so no reply follows.
struct call_abandoned {
  cluster_id cluster{};
  call_id call{};
};

/// A task's connection was closed. Used only if errors are delivered by heartbeat. Otherwise, the
/// end of the task's poll has this effect.
struct connection_closed {
  cluster_id cluster{};
  task_index task = no_task;
  core::incarnation incarnation{};
};

struct tick {};

/// Answers all parked calls. Later requests are refused.
struct stop {};

using event = std::variant<create_cluster, redeclare_cluster, renew_cluster, fail_cluster,
                           cluster_listens, restore_cluster, remove_cluster, cluster_call,
                           call_abandoned, connection_closed, tick, stop>;

}  // namespace muster::core::coordination
