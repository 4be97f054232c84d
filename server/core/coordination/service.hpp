// The coordination service of one generation of a cluster: from the first registration until the
// run has failed or everybody has left. What it does is the subclass's; `standalone_service` keeps
// everything in this process. Made by service_registry, owned by `clusters`. Engine thread only;
// pure.
#pragma once

#include "server/core/coordination/api/cluster_spec.hpp"
#include "server/core/coordination/api/effects.hpp"
#include "server/core/coordination/api/limits.hpp"
#include "server/core/coordination/api/requests.hpp"
#include "server/core/coordination/api/views.hpp"

namespace muster::core::coordination {

class service {
 public:
  virtual ~service() = default;

  /// Performs a request; its reply is in `fx` now or in a later step's. REQUIRES: now does not go
  /// backwards; the call id is not parked.
  virtual void perform(time_point now, request& r, effects& fx) = 0;
  /// The caller went away: whatever it waited for is withdrawn, no reply comes.
  virtual void call_gone(time_point now, call_id call, effects& fx) = 0;
  /// Something is due: silent tasks, deadlines, watchers.
  virtual void tick(time_point now, effects& fx) = 0;
  /// Answers every parked call; afterwards every request is refused.
  virtual void stop(time_point now, effects& fx) = 0;
  virtual time_point next_deadline() const = 0;
  /// Takes over the keys of a service of the same type, which nobody has registered at and no call
  /// waits at. Before the first request.
  virtual void inherit(service&) {}

  virtual core::incarnation incarnation() const = 0;
  virtual generation_state state() const = 0;
  /// Whether a registration with this incarnation belongs here rather than to a new generation.
  virtual bool knows(core::incarnation task) const = 0;
  /// Of all its tasks that have registered.
  virtual std::vector<core::incarnation> incarnations() const = 0;
  /// Whether the task is in an error from which a new incarnation may bring it back here.
  virtual bool takes_back(task_index) const { return false; }
  /// Whether one of its tasks registered from this address.
  virtual bool knows_peer(std::string const&) const { return false; }
  /// The addresses its tasks registered from.
  virtual std::vector<std::string> peers() const { return {}; }
  virtual std::size_t parked_calls() const = 0;

  // Views; copies. `now` tells ages and who is late.
  virtual generation_view view(time_point now) const = 0;
  /// By task; `after`: rows to skip.
  virtual std::vector<agent_view> tasks(time_point now, std::size_t after,
                                        std::size_t limit) const = 0;
  /// Running ones first (by start), then finished ones, newest first. No lists of tasks in it.
  virtual std::vector<barrier_view> barriers(time_point now, std::size_t after,
                                             std::size_t limit) const = 0;
  /// With everyone who arrived and everyone who is missing.
  virtual std::optional<barrier_view> barrier(time_point now, std::string_view id) const = 0;
  /// Keys that start with `prefix` and are greater than `after`, in byte order.
  virtual std::vector<key_view> keys(std::string_view prefix, std::string_view after,
                                     std::size_t limit) const = 0;
  virtual std::optional<key_view> key(std::string_view key) const = 0;
  /// Parked waits for keys that do not exist, by key.
  virtual std::vector<key_wait_view> key_waits(std::string_view prefix,
                                               std::size_t limit) const = 0;

  /// Empty when every internal invariant holds, else the first that does not, in words.
  virtual std::string violated_invariant() const = 0;
};

}  // namespace muster::core::coordination
