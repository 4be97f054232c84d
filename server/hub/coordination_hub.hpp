// Owns the coordination services of all clusters: executes requests, delivers replies, manages
// their shared timer, and publishes log events. A cluster that is passed to a function must exist.
// Used only on the engine thread.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>

#include "server/core/coordination/clusters.hpp"
#include "server/history/barriers/barrier_lateness.hpp"
#include "server/history/log/cluster_log.hpp"
#include "server/hub/commit_queue.hpp"
#include "server/hub/log_event.hpp"
#include "server/hub/reply_table.hpp"

namespace muster::server {

struct store_view {
  std::string directory{};
  std::uint64_t epoch = 0;       ///< number of server starts
  core::duration restored_in{};  ///< time taken to load the data
  std::uint64_t waiting_bytes = 0;
  std::uint64_t disk_bytes = 0;  ///< updated every few seconds
  std::string_view kind = "rocksdb";
  std::string version{};        ///< version of an external store
  std::string leader{};         ///< the leader's address if standby servers exist
  core::duration lease_left{};  ///< remaining time for which the leader may answer
  /// Free bytes of the disk or of etcd's quota, updated every second.
  std::optional<std::uint64_t> free_bytes{};
  /// Time since which new durable work is rejected for lack of disk space, or `never`.
  core::time_point full_since = core::never;
  std::string full{};  ///< path and free space of a full disk, otherwise empty
  struct kept_history {
    core::time_point since{};      ///< oldest record found at startup; the epoch if there is none
    std::uint64_t bytes = 0;       ///< updated every few seconds
    std::uint64_t dropped = 0;     ///< missing records, for any reason
    std::uint64_t unreadable = 0;  ///< damaged records, included in `dropped`
  };
  std::optional<kept_history> history{};
};

struct coordination_dependencies {
  /// Unix microseconds; monotonic (see core/api/time.hpp).
  std::function<core::time_point()> now;
  /// Schedules a call of `on_deadline`, replacing an earlier schedule.
  std::function<void(core::time_point)> arm;
  /// Publishes a log event. Must not call the hub.
  std::function<void(log_event const&)> tell;
  /// Appends the changes of a step to the journal. If empty, all state exists only in memory.
  /// REQUIRES: set if the limits have `journalled`.
  std::function<void(std::vector<core::coordination::fact> const&)> write_down = {};
  commit_queue* commits = nullptr;  // REQUIRES: set if write_down is set; outlives the hub
  /// Returns OK, or the reason why the journal accepts no new work.
  std::function<muster::status()> journal_refusal = {};
  /// REQUIRES: set if `write_down` is.
  std::function<store_view()> store = {};
};

/// The subjects that the answer to a call depends on. If empty, the answer can depend on any
/// subject.
struct answer_subjects {
  subject one = 0, other = 0;
  bool may_be_lost = true;  // if the changes are lost, the reply is an error
  /// Subject that an error depends on, unless the error reports the state of `one`.
  subject error = 0;
};

class coordination_hub {
 public:
  coordination_hub(core::coordination::limits limits, std::uint64_t seed,
                   coordination_dependencies dependencies);

  using reply_handler = reply_table<core::coordination::reply, answer_subjects>::handler;

  /// Executes a request. Passes the reply to `done` exactly once, possibly before `ask` returns.
  /// Returns the call ID, for `forget`.
  template <class Request>
  core::call_id ask(core::coordination::cluster_id cluster, Request r, reply_handler done) {
    auto const call = calls_.expect(std::move(done), about(cluster, r));
    if (creates_durable_state<Request> && dependencies_.journal_refusal)
      if (auto const why = dependencies_.journal_refusal(); !why.ok()) {
        refuse(call, why);
        return call;
      }
    r.from.call = call;
    core::coordination::cluster_call asked{cluster, std::move(r)};
    apply(asked);
    return call;
  }
  /// Drops the handler of a call whose caller has disconnected, unless the call was answered.
  void forget(core::coordination::cluster_id cluster, core::call_id call);

  void connection_closed(core::coordination::cluster_id cluster,
                         core::coordination::task_index task, core::incarnation incarnation) {
    apply(core::coordination::connection_closed{cluster, task, incarnation});
  }

  muster::result<core::coordination::cluster_id> create(core::coordination::cluster_spec spec);
  muster::status redeclare(core::coordination::cluster_id cluster,
                           core::coordination::cluster_spec spec) {
    return apply(core::coordination::redeclare_cluster{cluster, std::move(spec)});
  }
  muster::status renew(core::coordination::cluster_id cluster,
                       core::coordination::cluster_spec spec) {
    return apply(core::coordination::renew_cluster{cluster, std::move(spec)});
  }
  muster::status fail(core::coordination::fail_cluster e) { return apply(std::move(e)); }
  void listens(core::coordination::cluster_id cluster, std::uint16_t port) {
    apply(core::coordination::cluster_listens{cluster, port});
  }
  /// Removes a cluster after answering its pending calls. Returns NOT_FOUND if there is no such
  /// cluster.
  muster::status remove(std::string_view name) {
    return apply(core::coordination::remove_cluster{std::string(name)});
  }
  /// Restores a cluster from an earlier server process. REQUIRES: no request has been made.
  muster::status restore(core::coordination::restored_cluster what) {
    return apply(core::coordination::restore_cluster{std::move(what)});
  }
  /// Adds a run from an earlier server process to the displayed history.
  void remember(core::coordination::cluster_id cluster, core::coordination::generation_view run) {
    clusters_.remember(cluster, std::move(run));
  }
  /// Answers all pending calls. Later requests are rejected.
  void stop() { apply(core::coordination::stop{}); }

  void on_deadline() {
    alarm_.on_fired();
    apply(core::coordination::tick{});
  }
  /// Calls `told` once all changes so far are durable, or with the error of a failed disk. Not
  /// called if the hub is destroyed first.
  void when_durable(commit_queue::callback told) {
    dependencies_.commits ? dependencies_.commits->hold(true, std::move(told)) : told({});
  }
  /// Calls `told` once the last changes of the key and the cluster's run are durable, or with the
  /// error of a failed disk. Called immediately if there is no journal.
  void when_told(core::coordination::cluster_id cluster, std::string_view key,
                 commit_queue::callback told) {
    if (!dependencies_.commits) return told({});
    dependencies_.commits->hold_for(batch_of(of_key(cluster, key)), std::move(told));
  }
  /// Returns whether a change is not durable yet, or a waiting callback has not run.
  bool waits_for_disk() const { return dependencies_.commits && !dependencies_.commits->idle(); }

  struct durability {
    std::uint64_t written = 0;
    std::uint64_t durable = 0;
    core::time_point failed_since = core::never;
    std::string failure{};
    store_view store{};

    bool failed() const { return failed_since != core::never; }
    bool full() const { return store.full_since != core::never; }
  };
  /// Returns nothing if there is no journal.
  std::optional<durability> durable() const;
  status journal_refusal() const {
    return dependencies_.journal_refusal ? dependencies_.journal_refusal() : status{};
  }

  /// The listener gets the changes of each step, which are valid only during the call. The listener
  /// must not call the hub.
  void follow(std::function<void(core::coordination::changes const&)> listener) {
    listener_ = std::move(listener);
  }

  core::coordination::clusters const& state() const { return clusters_; }
  history::barrier_lateness const& late() const { return lateness_; }
  core::time_point now() const { return dependencies_.now(); }

 private:
  template <class Event>
  status apply(Event&& e) {
    return deliver(clusters_.step(dependencies_.now(), e));
  }
  /// Whether a client request creates durable objects. All other records result from these requests
  /// and are bounded.
  template <class Request>
  static constexpr bool creates_durable_state =
      std::is_same_v<Request, core::coordination::register_task> ||
      std::is_same_v<Request, core::coordination::insert_key_value> ||
      std::is_same_v<Request, core::coordination::increment_key_value>;

  /// Returns the subjects of a request: a key, all keys, or a task that sends heartbeats. Answers
  /// to other requests can depend on any subject.
  template <class Request>
  answer_subjects about(core::coordination::cluster_id cluster, Request const& r) const {
    if (!dependencies_.write_down) return {};
    if constexpr (std::is_same_v<Request, core::coordination::get_key_value> ||
                  std::is_same_v<Request, core::coordination::insert_key_value> ||
                  std::is_same_v<Request, core::coordination::increment_key_value>)
      return of_key(cluster, r.key);
    else if constexpr (std::is_same_v<Request, core::coordination::delete_key_value> ||
                       std::is_same_v<Request, core::coordination::get_key_value_dir>)
      return of_all_keys(cluster);
    else if constexpr (std::is_same_v<Request, core::coordination::heartbeat>)
      return of_task(cluster, r.task.index);
    else
      return {};
  }
  answer_subjects of_key(core::coordination::cluster_id cluster, std::string_view key) const;
  answer_subjects of_all_keys(core::coordination::cluster_id cluster) const;
  answer_subjects of_task(core::coordination::cluster_id cluster,
                          core::coordination::task_index t) const;
  std::uint64_t batch_of(answer_subjects const& o) const {
    return std::max(dependencies_.commits->batch_of(o.one),
                    dependencies_.commits->batch_of(o.other));
  }
  void write_down(std::vector<core::coordination::fact> const& facts);

  status deliver(core::coordination::effects& fx);
  void refuse(core::call_id call, muster::status const& why);

  coordination_dependencies dependencies_;
  core::coordination::clusters clusters_;
  history::barrier_lateness lateness_;
  std::function<void(core::coordination::changes const&)> listener_ = [](auto const&) {};
  history::cluster_log log_;
  reply_table<core::coordination::reply, answer_subjects> calls_;
  deadline_alarm alarm_;
};

}  // namespace muster::server
