// A member of a cluster that registers, sends heartbeats, and uses barriers and keys.
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

/// A running watch. Destroying it stops the watch. Members may be called from any thread; it may
/// outlive the agent.
class key_watch {
 public:
  /// Constructs an object without a watch.
  key_watch() = default;
  /// Used by the library.
  /// @param w  the watch
  explicit key_watch(std::shared_ptr<detail::key_watching> w);
  /// Stops the watch.
  ~key_watch();
  /// Takes over the watch of another object.
  key_watch(key_watch&&) noexcept = default;
  /// Stops this watch and takes over the watch of `other`.
  /// @param other  has no watch afterwards
  key_watch& operator=(key_watch&& other) noexcept;

  /// Ends the watch. After it has returned, the handler is not called any longer. Inside the
  /// handler it only requests the end, without waiting.
  void stop();

 private:
  std::shared_ptr<detail::key_watching> watching_;
};

/// One task of a cluster: registers with the coordination service, sends heartbeats, and meets
/// other tasks at barriers and through keys. Agents of JAX and TensorFlow can be in the same
/// cluster.
///
/// @code
/// muster::coordination_agent a({.server = "127.0.0.1:8476", .task = 0});
/// a.connect();  // waits for the server and for the other tasks
/// a.set("model/step", "1000");
/// a.barrier("loaded", std::chrono::seconds(60));  // waits for all tasks
/// a.shutdown();
/// @endcode
///
/// After connect() the agent sends heartbeats and listens for errors. When an error ends the run,
/// all waiting and later calls throw agent_error, and coordination_options::on_error is called.
/// connect() can then be called again and registers a new incarnation.
///
/// A broken connection is re-established. Calls that only wait are repeated, until the service has
/// not answered for coordination_options::heartbeat_timeout. Other interrupted calls throw
/// coordination_error (unavailable), because they may have been executed.
///
/// Keys are paths: slashes separate folders; repeated, leading and trailing slashes are ignored.
/// Values are any bytes. The ID of a barrier can be reused, and all its tasks must name the same
/// participants.
///
/// Members may be called from any thread. On a thread of the library, members that wait throw
/// std::logic_error. Each has an asynchronous version for a coroutine on any executor. Cancelling
/// it (any cancellation type) throws operation_aborted and withdraws the request.
///
/// All members that contact the service throw agent_error (also if not connected),
/// coordination_error and wait_timeout. Other exceptions are listed at the members.
class coordination_agent {
 public:
  /// Unit of all timeouts.
  using milliseconds = std::chrono::milliseconds;
  /// Result of asynchronous members.
  template <class T>
  using awaitable = boost::asio::awaitable<T>;

  /// Checks the options without connecting.
  /// @param options  the server, the task and times
  /// @throws std::invalid_argument  a time is not positive
  explicit coordination_agent(coordination_options options);
  /// Stops the heartbeats and cancels waiting requests. Without a preceding shutdown(), other tasks
  /// regard this task as failed after the cluster's heartbeat timeout. Must not run on a thread of
  /// the library, nor while a call is in progress.
  ~coordination_agent();
  coordination_agent(coordination_agent const&) = delete;
  coordination_agent& operator=(coordination_agent const&) = delete;

  /// Registers this task. Waits until the service is available and, if the cluster starts together,
  /// until all tasks have registered. After an error or a shutdown it registers a new incarnation,
  /// whose uses of barriers are counted from 0.
  /// @throws wait_timeout  after coordination_options::connect_timeout; names the missing tasks
  /// @throws coordination_error  invalid_argument: the cluster has no such task;
  ///   failed_precondition: the agent is already connected or connecting
  void connect();
  /// Asynchronous version of connect.
  awaitable<void> async_connect();
  /// Leaves the cluster; waits for all other tasks if the cluster leaves together.
  /// @throws agent_error  a task did not leave in time
  void shutdown();
  /// Asynchronous version of shutdown.
  awaitable<void> async_shutdown();

  /// Returns the state of this agent.
  agent_state state() const;
  /// Returns the incarnation of this process; 0 before the first connect().
  std::uint64_t incarnation() const;
  /// Returns the incarnation of the service with which this agent registered; 0 before.
  std::uint64_t service_incarnation() const;

  /// Waits until all tasks have called it, and returns the devices of all tasks, ordered by the
  /// name of the job, then by task. Later calls in the same run return the same result.
  /// @param devices  descriptions of this task's devices
  /// @param timeout  the longest wait
  std::vector<std::string> wait_for_all(std::vector<std::string> devices, milliseconds timeout);
  /// Asynchronous version of wait_for_all.
  /// @param devices  descriptions of this task's devices
  /// @param timeout  the longest wait
  awaitable<std::vector<std::string>> async_wait_for_all(std::vector<std::string> devices,
                                                         milliseconds timeout);

  // Keys.
  /// Stores a value, replacing an existing one.
  /// @param key  path of the key
  /// @param value  any bytes
  void set(std::string key, std::string value);
  /// Asynchronous version of set.
  /// @param key  path of the key
  /// @param value  any bytes
  awaitable<void> async_set(std::string key, std::string value);
  /// Stores a value unless the key exists.
  /// @param key  path of the key
  /// @param value  any bytes
  /// @return false if the key exists; its value is unchanged
  bool set_if_absent(std::string key, std::string value);
  /// Asynchronous version of set_if_absent.
  /// @param key  path of the key
  /// @param value  any bytes
  awaitable<bool> async_set_if_absent(std::string key, std::string value);
  /// Returns the value of a key, after waiting until it exists.
  /// @param key  path of the key
  /// @param timeout  the longest wait
  std::string get(std::string key, milliseconds timeout);
  /// Asynchronous version of get.
  /// @param key  path of the key
  /// @param timeout  the longest wait
  awaitable<std::string> async_get(std::string key, milliseconds timeout);
  /// Returns the value of a key, or nothing if it does not exist.
  /// @param key  path of the key
  std::optional<std::string> try_get(std::string key);
  /// Asynchronous version of try_get.
  /// @param key  path of the key
  awaitable<std::optional<std::string>> async_try_get(std::string key);
  /// Returns all keys in a folder, at any depth, in bytewise order.
  /// @param folder  path of the folder
  std::vector<key_value> list(std::string folder);
  /// Asynchronous version of list.
  /// @param folder  path of the folder
  awaitable<std::vector<key_value>> async_list(std::string folder);
  /// Adds to a decimal number and returns the sum. A missing key counts as 0.
  /// @param key  path of the key
  /// @param by  the number to add
  /// @throws coordination_error  failed_precondition: the value is not a number
  std::int64_t increment(std::string key, std::int64_t by = 1);
  /// Asynchronous version of increment.
  /// @param key  path of the key
  /// @param by  the number to add
  awaitable<std::int64_t> async_increment(std::string key, std::int64_t by = 1);
  /// Deletes a key and all keys below it.
  /// @param key  path of the key or folder
  void erase(std::string key);
  /// Asynchronous version of erase.
  /// @param key  path of the key or folder
  awaitable<void> async_erase(std::string key);
  /// Calls a handler for each existing key in a folder and then for each change. It polls every
  /// coordination_options::watch_interval; of several changes in one interval, only the last is
  /// reported. Ends with the agent's connection or after an error.
  /// @param folder  path of the folder
  /// @param on_change  called on a thread of the library; must be short, must not throw or wait
  /// @return stops the watch when it is destroyed
  key_watch watch(std::string folder, std::function<void(key_change const&)> on_change);

  // Barriers.
  /// Waits until all participants have called it.
  /// @param id  name of the barrier
  /// @param timeout  counts from the first task that arrives; ends the barrier for all tasks
  /// @param participants  the tasks; empty: all tasks
  /// @return how many times this ID was used before
  /// @throws coordination_barrier_error  the barrier ended without all participants
  /// @throws coordination_error  failed_precondition: this agent already waits at this barrier
  std::int64_t barrier(std::string id, milliseconds timeout,
                       std::vector<std::uint32_t> participants = {});
  /// Asynchronous version of barrier.
  /// @param id  name of the barrier
  /// @param timeout  counts from the first task that arrives; ends the barrier for all tasks
  /// @param participants  the tasks; empty: all tasks
  awaitable<std::int64_t> async_barrier(std::string id, milliseconds timeout,
                                        std::vector<std::uint32_t> participants = {});
  /// Cancels the barrier for all waiting tasks: they throw coordination_barrier_error (cancelled).
  /// If the ID has never been used, this ends its first use: each task that arrives gets this
  /// error.
  /// @param id  name of the barrier
  /// @throws coordination_error  failed_precondition: the last use has ended and no task waits for
  ///   the next
  void cancel_barrier(std::string id);
  /// Asynchronous version of cancel_barrier.
  /// @param id  name of the barrier
  awaitable<void> async_cancel_barrier(std::string id);
  /// Withdraws this agent's own call, which throws coordination_error (cancelled). The barrier
  /// still waits for this task.
  /// @param id  name of the barrier
  /// @return false if this agent does not wait there
  bool leave_barrier(std::string id);

  /// Reports a failure of this task to all tasks. The agent itself then has failed as well.
  /// @param code  kind of the error
  /// @param message  description of the error
  void report_error(coordination_code code, std::string message);
  /// Asynchronous version of report_error.
  /// @param code  kind of the error
  /// @param message  description of the error
  awaitable<void> async_report_error(coordination_code code, std::string message);
  /// Returns the error that ended the run, if any.
  std::optional<agent_error> error() const;
  /// Waits for an error that ends the run.
  /// @param timeout  the longest wait
  /// @return nothing if the time passed or the agent was shut down
  std::optional<agent_error> wait_for_error(milliseconds timeout);
  /// Asynchronous version of wait_for_error.
  /// @param timeout  the longest wait
  awaitable<std::optional<agent_error>> async_wait_for_error(milliseconds timeout);

  /// Returns the state of all tasks.
  task_list tasks();
  /// Asynchronous version of tasks.
  awaitable<task_list> async_tasks();
  /// Waits until the list of tasks has changed.
  /// @param version  the task_list::version that the caller knows
  /// @param timeout  the longest wait
  task_list wait_for_tasks(std::int64_t version, milliseconds timeout);
  /// Asynchronous version of wait_for_tasks.
  /// @param version  the task_list::version that the caller knows
  /// @param timeout  the longest wait
  awaitable<task_list> async_wait_for_tasks(std::int64_t version, milliseconds timeout);
  /// Waits until all connected tasks among those named have made the same call, and returns the
  /// same list to all of them.
  /// @param among  the tasks, including this one; empty: all tasks
  /// @param timeout  the longest wait
  std::vector<live_task> live_tasks(std::vector<std::uint32_t> among, milliseconds timeout);
  /// Asynchronous version of live_tasks.
  /// @param among  the tasks, including this one; empty: all tasks
  /// @param timeout  the longest wait
  awaitable<std::vector<live_task>> async_live_tasks(std::vector<std::uint32_t> among,
                                                     milliseconds timeout);

 private:
  std::shared_ptr<client_engine> engine_;  // outlives the agent's calls
  std::shared_ptr<detail::agent> agent_;
};

}  // namespace muster
