// The only owner of the clusters' coordination services: performs requests, carries the replies to
// whom they concern, keeps the one timer they need, and hands log events to the log. Lives on the
// engine thread; everything here is called there.
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

/// The directory that an earlier process wrote to, and this one does: for people.
struct store_view {
  std::string directory{};
  std::uint64_t epoch = 0;       ///< starts of servers there, this one included
  core::duration restored_in{};  ///< how long this one took to read it
  std::uint64_t waiting_bytes = 0;
  std::uint64_t disk_bytes = 0;  ///< as of some seconds ago
  std::string_view kind = "rocksdb";
  std::string version{};        ///< of a store that is a service
  std::string leader{};         ///< of a store that others wait for: where this server is found
  core::duration lease_left{};  ///< then: for so long it may answer
  /// Free bytes of the disk, or of etcd's quota, as of a second ago; none: not known.
  std::optional<std::uint64_t> free_bytes{};
  /// Since when new durable work is refused because the disk is full; never: it is accepted.
  core::time_point full_since = core::never;
  std::string full{};  ///< then: where, and how much is free
  /// What people look at, beside that; none: it is not kept.
  struct kept_history {
    core::time_point since{};      ///< the oldest that was found at the start; epoch: nothing was
    std::uint64_t bytes = 0;       ///< on disk, as of some seconds ago
    std::uint64_t dropped = 0;     ///< records that are missing, for whatever reason
    std::uint64_t unreadable = 0;  ///< of these, found on the disk and damaged
  };
  std::optional<kept_history> history{};
};

/// What the coordination hub needs from outside; real in the engine, by hand in tests.
struct coordination_dependencies {
  /// Monotonic, in Unix microseconds (see core/api/time.hpp).
  std::function<core::time_point()> now;
  /// Arrange for `on_deadline` to be called at this time; replaces an earlier arrangement.
  std::function<void(core::time_point)> arm;
  /// A line for the log and the event feed. Must not call the hub back.
  std::function<void(log_event const&)> tell;
  /// Gives what a step changed to the journal, which says in `commits` how far it is. Empty:
  /// everything is in memory. REQUIRES: set when the limits say `journalled`.
  std::function<void(std::vector<core::coordination::fact> const&)> write_down = {};
  commit_queue* commits = nullptr;  // REQUIRES: set when write_down is; outlives the hub
  /// More waits to be written than may: nothing new is taken that would have to be.
  /// OK: it takes more.
  std::function<muster::status()> journal_refusal = {};
  /// REQUIRES: set when `write_down` is.
  std::function<store_view()> store = {};
};

/// What the answer to a call reports: at most two subjects of the commit_queue. None: anything.
struct told_of {
  subject one = 0, other = 0;
  bool may_be_lost = true;  // it says something that the disk has to have
  /// The subject that an error depends on, if the error does not report `one`.
  subject error = 0;
};

class coordination_hub {
 public:
  /// `seed`: random.
  coordination_hub(core::coordination::limits limits, std::uint64_t seed,
                   coordination_dependencies dependencies);

  using reply_handler = reply_table<core::coordination::reply, told_of>::handler;

  /// Performs a request: the hub mints the call's id and puts it into `from`; `done` gets the reply
  /// exactly once, on the engine thread, possibly before `ask` returns. Returns the id, for
  /// `forget`. REQUIRES: the cluster exists.
  template <class Request>
  core::call_id ask(core::coordination::cluster_id cluster, Request r, reply_handler done) {
    auto const call = calls_.expect(std::move(done), about(cluster, r));
    if (begins_something<Request> && dependencies_.journal_refusal)
      if (auto const why = dependencies_.journal_refusal(); !why.ok()) {
        refuse(call, why);
        return call;
      }
    r.from.call = call;
    core::coordination::cluster_call asked{cluster, std::move(r)};
    apply(asked);
    return call;
  }
  /// The caller went away: its handler is dropped and never called. Harmless once answered.
  void forget(core::coordination::cluster_id cluster, core::call_id call);

  /// See core::coordination::connection_closed. REQUIRES: the cluster exists.
  void connection_closed(core::coordination::cluster_id cluster,
                         core::coordination::task_index task, core::incarnation incarnation) {
    apply(core::coordination::connection_closed{cluster, task, incarnation});
  }

  muster::result<core::coordination::cluster_id> create(core::coordination::cluster_spec spec);
  /// See core::coordination::redeclare_cluster. REQUIRES: the cluster exists.
  muster::status redeclare(core::coordination::cluster_id cluster,
                           core::coordination::cluster_spec spec) {
    return apply(core::coordination::redeclare_cluster{cluster, std::move(spec)});
  }
  /// See core::coordination::renew_cluster. REQUIRES: the cluster exists.
  muster::status renew(core::coordination::cluster_id cluster,
                       core::coordination::cluster_spec spec) {
    return apply(core::coordination::renew_cluster{cluster, std::move(spec)});
  }
  /// See core::coordination::fail_cluster. REQUIRES: the cluster exists.
  muster::status fail(core::coordination::fail_cluster e) { return apply(std::move(e)); }
  /// See core::coordination::cluster_listens. REQUIRES: the cluster exists.
  void listens(core::coordination::cluster_id cluster, std::uint16_t port) {
    apply(core::coordination::cluster_listens{cluster, port});
  }
  /// Answers every parked call of the cluster first. NOT_FOUND.
  muster::status remove(std::string_view name) {
    return apply(core::coordination::remove_cluster{std::string(name)});
  }
  /// A cluster of an earlier process; see core::coordination::restore_cluster. Before anybody asks.
  muster::status restore(core::coordination::restored_cluster what) {
    return apply(core::coordination::restore_cluster{std::move(what)});
  }
  /// What people see of an earlier process's runs; see core::coordination::cluster.
  void remember(core::coordination::cluster_id cluster, core::coordination::generation_view run) {
    clusters_.remember(cluster, std::move(run));
  }
  /// Answers everything; requests are refused from then on.
  void stop() { apply(core::coordination::stop{}); }

  void on_deadline() {
    alarm_.on_fired();
    apply(core::coordination::tick{});
  }
  /// Called when all that has been done so far is durable, at once where it is, with why it never
  /// will be otherwise. Not called when the hub goes before.
  void when_durable(commit_queue::told told) {
    dependencies_.commits ? dependencies_.commits->hold(true, std::move(told)) : told({});
  }
  /// The same for what is told of one key: when its last change is durable, and the cluster's run.
  /// REQUIRES: the cluster exists.
  void when_told(core::coordination::cluster_id cluster, std::string_view key,
                 commit_queue::told told) {
    if (!dependencies_.commits) return told({});
    dependencies_.commits->hold_for(batch_of(of_key(cluster, key)), std::move(told));
  }
  /// Something of the server, whatever it is about, is not on the disk yet, or was not told.
  bool waits_for_disk() const { return dependencies_.commits && !dependencies_.commits->idle(); }

  /// How far the disk is, for people and metrics.
  struct durability {
    std::uint64_t written = 0;  ///< batches
    std::uint64_t durable = 0;  ///< of them
    core::time_point failed_since = core::never;
    std::string failure{};
    store_view store{};

    bool failed() const { return failed_since != core::never; }
    bool full() const { return store.full_since != core::never; }
  };
  /// Nothing: everything is in memory.
  std::optional<durability> durable() const;
  /// Returns why new durable work is refused now, as data_directory::refusal; OK: it is accepted.
  status journal_refusal() const {
    return dependencies_.journal_refusal ? dependencies_.journal_refusal() : status{};
  }

  /// Called with what each step has changed, which is valid for the call. Must not call the hub
  /// back.
  void follow(std::function<void(core::coordination::changes const&)> listener) {
    listener_ = std::move(listener);
  }

  core::coordination::clusters const& state() const { return clusters_; }
  /// Who comes late to barriers.
  history::barrier_lateness const& late() const { return late_; }
  core::time_point now() const { return dependencies_.now(); }

 private:
  template <class Event>
  status apply(Event&& e) {
    return deliver(clusters_.step(dependencies_.now(), e));
  }
  /// What a client may begin that has to be written down; the rest follows from it and is bounded.
  template <class Request>
  static constexpr bool begins_something =
      std::is_same_v<Request, core::coordination::register_task> ||
      std::is_same_v<Request, core::coordination::insert_key_value> ||
      std::is_same_v<Request, core::coordination::increment_key_value>;

  /// Returns a key, all keys, or a task that beats. The answers to other requests can rest on
  /// anything.
  template <class Request>
  told_of about(core::coordination::cluster_id cluster, Request const& r) const {
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
  told_of of_key(core::coordination::cluster_id cluster, std::string_view key) const;
  told_of of_all_keys(core::coordination::cluster_id cluster) const;
  told_of of_task(core::coordination::cluster_id cluster, core::coordination::task_index t) const;
  std::uint64_t batch_of(told_of const& o) const {
    return std::max(dependencies_.commits->batch_of(o.one),
                    dependencies_.commits->batch_of(o.other));
  }
  void write_down(std::vector<core::coordination::fact> const& facts);

  status deliver(core::coordination::effects& fx);
  void refuse(core::call_id call, muster::status const& why);

  coordination_dependencies dependencies_;
  core::coordination::clusters clusters_;
  history::barrier_lateness late_;
  std::function<void(core::coordination::changes const&)> listener_ = [](auto const&) {};
  history::cluster_log log_;
  reply_table<core::coordination::reply, told_of> calls_;
  deadline_alarm alarm_;
};

}  // namespace muster::server
