// One cluster with simulated time, and short functions for the calls of agents.
//
//   scene s({.tasks = 2});
//   auto const a = s.enlist(0);
//   EXPECT_TRUE(s.parked(a));
//   s.enlist(1);
//   EXPECT_EQ(s.code_of(a), code::ok);
//
// Checked after every step:
// - The invariants of the core hold.
// - No call is answered twice, or after its caller disconnected.
// - No message is longer than a trailer can carry.
// - A restarted server and a model built from the changes have the same state.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/core/coordination/clusters.hpp"
#include "server/history/log/cluster_log.hpp"
#include "tests/coordination/changes_model.hpp"
#include "tests/coordination/fact_book.hpp"
#include "tests/core/printers.hpp"

namespace muster::core::coordination {

using namespace std::chrono_literals;
using log_event = history::cluster_event;
using log_event_kind = history::cluster_event_kind;

inline constexpr time_point start{std::chrono::seconds(1'700'000'000)};

struct setting {
  std::uint32_t tasks = 2;
  cluster_spec spec = {};  // without roles: one role "worker" with `tasks` tasks
  coordination::limits limits = {};
};

struct barrier_call {
  std::int64_t counter = 0;
  std::vector<task_index> who = {};
  duration timeout = 60s;
  time_point deadline = never;
};

class scene {
 public:
  explicit scene(setting s = {});

  template <class Request>
  call_id ask(Request r, time_point deadline = never) {
    r.from.call = call_id{++last_call_};
    if (deadline != never) r.from.deadline = deadline;
    if (speaks_xla) r.from.service = incarnation();
    if (peer_of_caller) r.from.peer = *peer_of_caller;
    auto const call = r.from.call;
    open_.insert(call);
    cluster_call any{id, std::move(r)};
    take(all.step(now_, any));
    return call;
  }
  void gone(call_id call);
  /// Advances time with ticks.
  void advance(duration d);
  /// Advances time without ticks.
  void stall(duration d) { now_ += d; }
  void tick();
  void stop() {
    stopped_ = true;
    take(all.step(now_, coordination::stop{}));
  }
  /// Restarts from the stored facts without answering open calls.
  void restart();
  void listens(std::uint16_t port) { take(all.step(now_, cluster_listens{id, port})); }
  status redeclare(cluster_spec spec);
  status renew(cluster_spec spec);
  status fail(muster::code c, std::string message, bool refuses = false);
  result<cluster_id> create(cluster_spec spec);
  time_point now() const { return now_; }

  // Calls of agents. Incarnation 0 means 100 + task.
  call_id enlist(task_index t, std::uint64_t incarnation = 0, time_point deadline = never);
  void enlist_all();
  call_id beat(task_index t, std::uint64_t incarnation = 0);
  void beat_all();
  call_id leave(task_index t, time_point deadline = never);
  call_id reset(task_index t);
  call_id poll(task_index t);
  call_id report(task_index t, muster::code c, std::string message);
  call_id barrier(std::string id, task_index t, barrier_call b = {});
  call_id cancel(std::string id, std::optional<std::int64_t> counter = 0);
  call_id set(std::string key, std::string value, bool overwrite = false);
  call_id get(std::string key, time_point deadline = never);
  call_id try_get(std::string key);
  call_id increment(std::string key, std::int64_t by);
  call_id dir(std::string key);
  call_id erase(std::string key);
  call_id watch(std::int64_t version);
  call_id alive(task_index t, std::vector<task_index> who);
  call_id devices(task_index t, std::vector<std::string> devices);
  task_ref ref(task_index t) const;
  std::vector<task_ref> refs(std::vector<task_index> const& who) const;

  bool parked(call_id c) const { return !replies_.contains(c); }
  std::optional<muster::code> code_of(call_id c) const;
  std::string message_of(call_id c) const;
  reply const& reply_to(call_id c) const;
  fault const& fault_of(call_id c) const;
  std::string value_of(call_id c) const;  // the value of a key
  std::shared_ptr<task_states const> states_of(call_id c) const;
  agent_state state_of(task_index t);
  std::int64_t version();
  std::vector<log_event> log_events(log_event_kind kind) const;
  void forget_log_events() { log_events_.clear(); }
  /// Returns the changes of this type since the last `forget_changes`.
  template <class Change>
  std::vector<Change> changed() const {
    std::vector<Change> of_kind;
    for (auto const& step : changed_)
      step.each([&](cluster_id, auto const& one) {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, Change>) of_kind.push_back(one);
      });
    return of_kind;
  }
  void forget_changes() { changed_.clear(); }
  coordination::service const& current() const { return all.current(id); }
  core::incarnation incarnation() const { return current().incarnation(); }
  agent_view agent(task_index t) const { return current().views().tasks(now_, t, 1).at(0); }
  generation_view generation() const { return current().view(now_); }
  std::size_t replies_in_last_step() const { return last_replies_; }

  bool checks_each_step = true;  // false for large clusters
  bool speaks_xla = false;       // calls contain the service's incarnation
  std::optional<std::string> peer_of_caller;

  coordination::limits const limits;
  clusters all;
  cluster_id id{};

 private:
  void take(effects& fx);
  void fold(changes const& all);
  void expect_known_tasks(reply const& r) const;

  time_point now_ = start;
  std::uint64_t last_call_ = 0;
  std::map<call_id, reply> replies_;
  std::set<call_id> open_;
  history::cluster_log log_;
  std::vector<log_event> log_events_;
  std::size_t last_replies_ = 0;
  fact_book written_;
  changes_model folded_;
  std::vector<changes> changed_;  // one element per step
  bool stopped_ = false;
};

}  // namespace muster::core::coordination
