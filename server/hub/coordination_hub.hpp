// The only owner of the clusters' coordination services: performs requests, carries the replies to
// whom they concern, keeps the one timer they need, and hands notices to the log. Lives on the
// engine thread; everything here is called there.
#pragma once

#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/core/coordination/clusters.hpp"

namespace muster::server {

/// What the coordination hub needs from its surroundings; real in the engine, by hand in tests.
struct coordination_environment {
  /// Monotonic, in Unix microseconds (see core/time.hpp).
  std::function<core::time_point()> now;
  /// Arrange for `on_deadline` to be called at this time; replaces an earlier arrangement.
  std::function<void(core::time_point)> arm;
  /// A line for the log and the event feed. Must not call the hub back.
  std::function<void(core::coordination::notice const&)> tell;
};

class coordination_hub {
 public:
  /// `seed`: random. REQUIRES: `types` outlives the hub.
  coordination_hub(core::coordination::limits limits,
                   core::coordination::service_registry const& types, std::uint64_t seed,
                   coordination_environment environment);

  using reply_handler = std::function<void(core::coordination::reply&)>;

  /// Performs a request: the hub mints the call's id and puts it into `from`; `done` gets the reply
  /// exactly once, on the engine thread, possibly before `ask` returns. Returns the id, for
  /// `forget`. REQUIRES: the cluster exists.
  template <class Request>
  core::call_id ask(core::coordination::cluster_id cluster, Request r, reply_handler done) {
    auto const call = expect(std::move(done));
    r.from.call = call;
    core::coordination::request any(std::move(r));
    deliver(clusters_.step(environment_.now(), cluster, any));
    return call;
  }
  /// The caller went away: its handler is dropped and never called. Harmless once answered.
  void forget(core::coordination::cluster_id cluster, core::call_id call);

  muster::result<core::coordination::cluster_id> create(core::coordination::cluster_spec spec);
  /// As clusters::redeclare. REQUIRES: the cluster exists.
  muster::status redeclare(core::coordination::cluster_id cluster,
                           core::coordination::cluster_spec spec);
  /// Answers every parked call of the cluster first. NOT_FOUND.
  muster::status remove(std::string_view name);
  /// Answers everything; requests are refused from then on.
  void stop();

  void on_deadline();

  core::coordination::clusters const& state() const { return clusters_; }
  core::time_point now() const { return environment_.now(); }

 private:
  core::call_id expect(reply_handler done);
  void deliver(core::coordination::effects& fx);

  coordination_environment environment_;
  core::coordination::clusters clusters_;
  std::unordered_map<core::call_id, reply_handler> calls_;
  std::uint64_t last_call_ = 0;
  core::time_point armed_ = core::never;
};

}  // namespace muster::server
