// What changes the coordination core: one struct an event, nothing else. Plain data, so that a run
// can be recorded and performed again.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "server/core/coordination/api/coordination_effects.hpp"
#include "server/core/coordination/api/coordination_facts.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"
#include "server/core/coordination/api/requests.hpp"

namespace muster::core::coordination {

/// Errors: INVALID_ARGUMENT names the field; ALREADY_EXISTS; RESOURCE_EXHAUSTED; UNAVAILABLE after
/// `stop`.
struct create_cluster {
  cluster_spec spec;
};

/// Replaces what the cluster is declared to be; its name stays. At once while nobody has registered
/// and no call waits (keys stay), or when the generation has ended and may be renewed; otherwise
/// the next one has it, and the running one goes on as it began. Errors as for create; a log event,
/// unless nothing changes. REQUIRES (here and below): the cluster exists.
struct redeclare_cluster {
  cluster_id cluster{};
  cluster_spec spec;
};

/// The generation of now ends, whatever it does: whoever waits is answered. The next one, of
/// `spec`, begins with the next tick; until then registrations are refused with UNAVAILABLE. Errors
/// as for create.
struct renew_cluster {
  cluster_id cluster{};
  cluster_spec spec;
};

/// The generation of now fails with this error, which is no task's: everybody is told, and whoever
/// waits is answered with it. `refuses`: so is each later call, but for those by which tasks come,
/// beat, hear of errors and leave, until the next generation. Errors in `declared`:
/// FAILED_PRECONDITION: nobody is there, or it has ended. REQUIRES: a code that is no success.
struct fail_cluster {
  cluster_id cluster{};
  muster::code code = muster::code::aborted;
  std::string message;
  bool refuses = false;
};

/// The cluster listens at this port of its own. The next process of the server tries it first.
struct cluster_listens {
  cluster_id cluster{};
  std::uint16_t port = 0;
};

/// A cluster of an earlier process, with all that is known of it. Errors as for create.
struct restore_cluster {
  restored_cluster what;
};

/// Answers every parked call and forgets the cluster. NOT_FOUND.
struct remove_cluster {
  std::string name;
};

/// A call of the cluster's coordination service. It is moved from. REQUIRES: its id is new.
struct cluster_call {
  cluster_id cluster{};
  request what;
};

/// The caller went away: whatever it waited for is withdrawn, no reply comes.
struct call_gone {
  cluster_id cluster{};
  call_id call{};
};

/// The connection that a task spoke over has ended. It counts where errors are told by heartbeat;
/// elsewhere the task's poll tells.
struct connection_closed {
  cluster_id cluster{};
  task_index task = no_task;
  core::incarnation incarnation{};
};

/// Something is due.
struct tick {};

/// Answers everything; requests are refused from then on.
struct stop {};

using event = std::variant<create_cluster, redeclare_cluster, renew_cluster, fail_cluster,
                           cluster_listens, restore_cluster, remove_cluster, cluster_call,
                           call_gone, connection_closed, tick, stop>;

}  // namespace muster::core::coordination
