// The only owner of the clusters' coordination services: performs requests, carries the replies to
// whom they concern, keeps the one timer they need, and hands notices to the log. Lives on the
// engine thread; everything here is called there.
#pragma once

#include <functional>
#include <string_view>

#include "server/core/coordination/clusters.hpp"
#include "server/hub/notice.hpp"
#include "server/hub/reply_table.hpp"

namespace muster::server {

/// What the coordination hub needs from its surroundings; real in the engine, by hand in tests.
struct coordination_environment {
  /// Monotonic, in Unix microseconds (see core/time.hpp).
  std::function<core::time_point()> now;
  /// Arrange for `on_deadline` to be called at this time; replaces an earlier arrangement.
  std::function<void(core::time_point)> arm;
  /// A line for the log and the event feed. Must not call the hub back.
  std::function<void(notice const&)> tell;
};

class coordination_hub {
 public:
  /// `seed`: random.
  coordination_hub(core::coordination::limits limits, std::uint64_t seed,
                   coordination_environment environment);

  using reply_handler = reply_table<core::coordination::reply>::handler;

  /// Performs a request: the hub mints the call's id and puts it into `from`; `done` gets the reply
  /// exactly once, on the engine thread, possibly before `ask` returns. Returns the id, for
  /// `forget`. REQUIRES: the cluster exists.
  template <class Request>
  core::call_id ask(core::coordination::cluster_id cluster, Request r, reply_handler done) {
    auto const call = calls_.expect(std::move(done));
    r.from.call = call;
    core::coordination::cluster_call asked{cluster, std::move(r)};
    apply(asked);
    return call;
  }
  /// The caller went away: its handler is dropped and never called. Harmless once answered.
  void forget(core::coordination::cluster_id cluster, core::call_id call);

  muster::result<core::coordination::cluster_id> create(core::coordination::cluster_spec spec);
  /// See core::coordination::redeclare_cluster. REQUIRES: the cluster exists.
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
  template <class Event>
  status apply(Event&& e) {
    return deliver(clusters_.step(environment_.now(), e));
  }
  status deliver(core::coordination::effects& fx);

  coordination_environment environment_;
  core::coordination::clusters clusters_;
  reply_table<core::coordination::reply> calls_;
  deadline_alarm alarm_;
};

}  // namespace muster::server
