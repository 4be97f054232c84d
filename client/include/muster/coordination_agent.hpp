// One task of a cluster: registers, beats, and meets the others at barriers and over keys, beside
// agents of JAX and TensorFlow in the same cluster.
//
//   muster::coordination_agent a({.server = "127.0.0.1:8476", .task = 0});
//   a.connect();                        // waits for the server, and for the other tasks
//   a.set("model/step", "1000");
//   a.barrier("loaded", 60s);           // everybody has come
//   a.shutdown();
//
// From connect() on it sends heartbeats by itself and asks for errors. When one ends the run, every
// call that waits, and every later one, raises agent_error, and options.on_error hears of it;
// connect() begins anew then, as another incarnation. A broken connection is no error: it is
// dialled again, calls that only wait are asked again, until nothing was heard for
// heartbeat_timeout. Other calls that broke midway raise coordination_error (unavailable): they may
// have been performed.
//
// Every member may be called from any thread but the library's own, where those that wait throw
// std::logic_error. Each has a twin for coroutines on any executor; cancelling it (any type) ends
// it with operation_aborted, and withdraws it at the service. Errors of all: agent_error (also: not
// connected yet), coordination_error, wait_timeout; std::invalid_argument is said where it is
// meant.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/coordination_options.hpp"

namespace muster {

class client_engine;
namespace detail {
class agent;
class key_watching;
}  // namespace detail

/// Ends a watch: no call of its handler begins afterwards. Any thread; may outlive the agent.
class key_watch {
 public:
  key_watch() = default;
  explicit key_watch(std::shared_ptr<detail::key_watching> w);
  ~key_watch();
  key_watch(key_watch&&) noexcept = default;
  key_watch& operator=(key_watch&& other) noexcept;

  /// REQUIRES: not inside the handler, unless nothing is to be waited for there; there it only asks
  /// the watch to end.
  void stop();

 private:
  std::shared_ptr<detail::key_watching> watching_;
};

class coordination_agent {
 public:
  using milliseconds = std::chrono::milliseconds;
  template <class T>
  using awaitable = boost::asio::awaitable<T>;

  /// Does nothing yet. Errors: std::invalid_argument (a time that is not positive).
  explicit coordination_agent(coordination_options options);
  /// Stops beating and withdraws what waits. Without shutdown() before, that is a death to the
  /// others, when the cluster's heartbeat time-out has passed. REQUIRES: not on the library's
  /// thread; no call is under way.
  ~coordination_agent();
  coordination_agent(coordination_agent const&) = delete;
  coordination_agent& operator=(coordination_agent const&) = delete;

  /// Registers: waits until the service is up and, where the cluster begins together, until all
  /// tasks have come. After an error or a shutdown: begins anew, as another incarnation whose uses
  /// of barriers are counted from 0. Errors: wait_timeout after connect_timeout, which names who is
  /// missing; coordination_error (invalid_argument: the cluster has no such task;
  /// failed_precondition: it is connected, or connecting).
  void connect();
  awaitable<void> async_connect();
  /// Leaves, with all others where the cluster leaves together. Errors: agent_error if somebody did
  /// not come to leave.
  void shutdown();
  awaitable<void> async_shutdown();

  agent_state state() const;
  /// Of this process; 0 before the first connect().
  std::uint64_t incarnation() const;
  /// Of the run that it registered for; 0 before.
  std::uint64_t service_incarnation() const;

  /// Waits until all tasks have called it; what each has to say of itself (its devices, say) is
  /// given to all, in order of jobs by name, then tasks. Counts once for a run: later calls answer
  /// with what was said then.
  std::vector<std::string> wait_for_all(std::vector<std::string> devices, milliseconds timeout);
  awaitable<std::vector<std::string>> async_wait_for_all(std::vector<std::string> devices,
                                                         milliseconds timeout);

  // Keys. Slashes make folders; doubled, leading and trailing ones do not count. Values are bytes.
  /// Replaces what was there.
  void set(std::string key, std::string value);
  awaitable<void> async_set(std::string key, std::string value);
  /// False: the key exists, and keeps its value.
  bool set_if_absent(std::string key, std::string value);
  awaitable<bool> async_set_if_absent(std::string key, std::string value);
  /// Waits until the key exists.
  std::string get(std::string key, milliseconds timeout);
  awaitable<std::string> async_get(std::string key, milliseconds timeout);
  /// None: there is no such key.
  std::optional<std::string> try_get(std::string key);
  awaitable<std::optional<std::string>> async_try_get(std::string key);
  /// All below the folder, at any depth, in order of bytes.
  std::vector<key_value> list(std::string folder);
  awaitable<std::vector<key_value>> async_list(std::string folder);
  /// Adds to a decimal number, 0 if there is none, and gives the sum. Errors: failed_precondition
  /// (the value is no number).
  std::int64_t increment(std::string key, std::int64_t by = 1);
  awaitable<std::int64_t> async_increment(std::string key, std::int64_t by = 1);
  /// The key and everything below it.
  void erase(std::string key);
  awaitable<void> async_erase(std::string key);
  /// Tells of every key below the folder: first of those that are there, then of changes. The
  /// service is asked every watch_interval, so of several changes in between only the last is told.
  /// The handler runs on the library's thread, like on_error. Ends with the agent's connection.
  /// Errors: as of all, at once; later ones end it.
  key_watch watch(std::string folder, std::function<void(key_change const&)> on_change);

  // Barriers. The same id may be used again and again; all must agree on the participants.
  /// Waits until all participants have come (none: all tasks), and gives the use of the id, from 0.
  /// `timeout` counts from the first who comes, and ends it for all. Errors:
  /// coordination_barrier_error; coordination_error (failed_precondition: this agent waits there
  /// already).
  std::int64_t barrier(std::string id, milliseconds timeout,
                       std::vector<std::uint32_t> participants = {});
  awaitable<std::int64_t> async_barrier(std::string id, milliseconds timeout,
                                        std::vector<std::uint32_t> participants = {});
  /// Ends the barrier for all who wait: their calls raise coordination_barrier_error (cancelled).
  /// An id that nobody has used yet: its first use begins, and ends so for whoever comes. Errors:
  /// failed_precondition (the last use is over, and nobody waits for the next).
  void cancel_barrier(std::string id);
  awaitable<void> async_cancel_barrier(std::string id);
  /// Takes this agent's own call back: it raises coordination_error (cancelled), the barrier goes
  /// on waiting for it. False: it does not wait there.
  bool leave_barrier(std::string id);

  // Errors.
  /// Tells all tasks that this one has failed. It has failed then, for itself too.
  void report_error(coordination_code code, std::string message);
  awaitable<void> async_report_error(coordination_code code, std::string message);
  /// The error that ended the run, if one has.
  std::optional<agent_error> error() const;
  /// Waits for one. None: not within `timeout`, or the agent was shut down.
  std::optional<agent_error> wait_for_error(milliseconds timeout);
  awaitable<std::optional<agent_error>> async_wait_for_error(milliseconds timeout);

  // Tasks.
  task_list tasks();
  awaitable<task_list> async_tasks();
  /// Waits until the list has another version than this one.
  task_list wait_for_tasks(std::int64_t version, milliseconds timeout);
  awaitable<task_list> async_wait_for_tasks(std::int64_t version, milliseconds timeout);
  /// Waits until every one of these tasks (none: all) that is connected has asked the same, and
  /// gives all of them the same answer. REQUIRES: this task is among them.
  std::vector<live_task> live_tasks(std::vector<std::uint32_t> among, milliseconds timeout);
  awaitable<std::vector<live_task>> async_live_tasks(std::vector<std::uint32_t> among,
                                                     milliseconds timeout);

 private:
  std::shared_ptr<client_engine> engine_;  // outlives the agent's calls
  std::shared_ptr<detail::agent> agent_;
};

}  // namespace muster
