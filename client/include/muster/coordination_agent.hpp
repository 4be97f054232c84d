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

/// A running watch, which stops when this object is destroyed. Members may be called from any
/// thread. The object can outlive the agent.
class key_watch {
 public:
  /// Constructs an object without a watch.
  key_watch() = default;
  /// Constructs the object; used by the library.
  /// @param w  the watch
  explicit key_watch(std::shared_ptr<detail::key_watching> w);
  /// Stops the watch.
  ~key_watch();
  /// Moves the watch from another object.
  key_watch(key_watch&&) noexcept = default;
  /// Stops this watch and moves the watch from `other`.
  /// @param other  has no watch afterwards
  key_watch& operator=(key_watch&& other) noexcept;

  /// Stops the watch. After this function has returned, the handler is no longer called. Inside the
  /// handler, this function only requests the stop and does not wait.
  void stop();

 private:
  std::shared_ptr<detail::key_watching> watching_;
};

/// One task of a cluster: registers with the coordination service, sends heartbeats, and
/// synchronises with other tasks through barriers and keys. JAX and TensorFlow agents can be in the
/// same cluster.
///
/// @code
/// muster::coordination_agent a({.server = "127.0.0.1:8476",.task = 0});
/// a.connect();  // waits for the server and for the other tasks
/// a.set("model/step", "1000");
/// a.barrier("loaded", std::chrono::seconds(60));  // waits for all tasks
/// a.shutdown();
/// @endcode
///
/// After connect() the agent sends heartbeats and listens for errors. When an error ends the run,
/// all waiting and later calls throw agent_error, and coordination_options::on_error is called. A
/// later connect() registers a new incarnation.
///
/// A broken connection is re-established. Calls that only wait are repeated until the service has
/// been silent for coordination_options::heartbeat_timeout. Other interrupted calls throw
/// coordination_error (unavailable), because they may have been executed.
///
/// Keys are paths: slashes separate folders; repeated, leading and trailing slashes are ignored.
/// Values are arbitrary bytes. A barrier ID can be reused. All tasks at a barrier must specify the
/// same participants.
///
/// Members may be called from any thread. On a library thread, members that wait throw
/// std::logic_error. Each member that waits has an asynchronous version for coroutines on any
/// executor. Cancellation of any type throws operation_aborted and withdraws the request.
///
/// All members that contact the service throw agent_error (also if the agent is not connected),
/// coordination_error and wait_timeout. Each member lists only its additional
/// exceptions.
class coordination_agent {
 public:
  /// Unit of all timeouts.
  using milliseconds = std::chrono::milliseconds;
  /// Result of asynchronous members.
  template <class T>
  using awaitable = boost::asio::awaitable<T>;

  /// Validates the options without connecting.
  /// @param options  agent options
  /// @throws std::invalid_argument  a timeout is not positive
  explicit coordination_agent(coordination_options options);
  /// Stops the heartbeats and cancels waiting requests. Without a preceding shutdown(), other tasks
  /// consider this task failed after the cluster's heartbeat timeout. Must not be called on a
  /// library thread or while a call is in progress.
  ~coordination_agent();
  coordination_agent(coordination_agent const&) = delete;
  coordination_agent& operator=(coordination_agent const&) = delete;

  /// Registers this task. Waits until the service is available and, if all tasks start together,
  /// until all tasks have registered. After an error or a shutdown, connect() registers a new
  /// incarnation, which counts its barrier uses from 0.
  /// @throws wait_timeout  coordination_options::connect_timeout has expired; the message names the
  ///   missing tasks
  /// @throws coordination_error  invalid_argument: the cluster does not have this task;
  ///   failed_precondition: the agent is already connected or connecting
  void connect();
  /// Asynchronous version of connect.
  awaitable<void> async_connect();
  /// Leaves the cluster. If all tasks leave together, waits for all other tasks.
  /// @throws agent_error  a task did not leave in time
  void shutdown();
  /// Asynchronous version of shutdown.
  awaitable<void> async_shutdown();

  /// Returns the state of this agent.
  agent_state state() const;
  /// Returns the incarnation of this process; 0 before the first connect().
  std::uint64_t incarnation() const;
  /// Returns the service incarnation with which this agent registered; 0 before the first
  /// connect().
  std::uint64_t service_incarnation() const;

  /// Waits until all tasks have called this function, and returns the devices of all tasks, ordered
  /// by job name, then by task. Later calls in the same run return the same result.
  /// @param devices  descriptions of this task's devices
  /// @param timeout  maximum time to wait
  std::vector<std::string> wait_for_all(std::vector<std::string> devices, milliseconds timeout);
  /// Asynchronous version of wait_for_all.
  /// @param devices  descriptions of this task's devices
  /// @param timeout  maximum time to wait
  awaitable<std::vector<std::string>> async_wait_for_all(std::vector<std::string> devices,
                                                         milliseconds timeout);

  /// Stores a value, or replaces the existing value.
  /// @param key  key path
  /// @param value  arbitrary bytes
  void set(std::string key, std::string value);
  /// Asynchronous version of set.
  /// @param key  key path
  /// @param value  arbitrary bytes
  awaitable<void> async_set(std::string key, std::string value);
  /// Stores a value unless the key exists.
  /// @param key  key path
  /// @param value  arbitrary bytes
  /// @return false if the key exists; its value is unchanged
  bool set_if_absent(std::string key, std::string value);
  /// Asynchronous version of set_if_absent.
  /// @param key  key path
  /// @param value  arbitrary bytes
  awaitable<bool> async_set_if_absent(std::string key, std::string value);
  /// Returns the value of a key, after waiting until it exists.
  /// @param key  key path
  /// @param timeout  maximum time to wait
  std::string get(std::string key, milliseconds timeout);
  /// Asynchronous version of get.
  /// @param key  key path
  /// @param timeout  maximum time to wait
  awaitable<std::string> async_get(std::string key, milliseconds timeout);
  /// Returns the value of a key, or nothing if it does not exist.
  /// @param key  key path
  std::optional<std::string> try_get(std::string key);
  /// Asynchronous version of try_get.
  /// @param key  key path
  awaitable<std::optional<std::string>> async_try_get(std::string key);
  /// Returns all keys in a folder, at any depth, in bytewise order.
  /// @param folder  folder path
  std::vector<key_value> list(std::string folder);
  /// Asynchronous version of list.
  /// @param folder  folder path
  awaitable<std::vector<key_value>> async_list(std::string folder);
  /// Adds to a decimal number and returns the sum. A missing key counts as 0.
  /// @param key  key path
  /// @param by  the number to add
  /// @throws coordination_error  failed_precondition: the value is not a number
  std::int64_t increment(std::string key, std::int64_t by = 1);
  /// Asynchronous version of increment.
  /// @param key  key path
  /// @param by  the number to add
  awaitable<std::int64_t> async_increment(std::string key, std::int64_t by = 1);
  /// Deletes a key and all keys below its path.
  /// @param key  key or folder path
  void erase(std::string key);
  /// Asynchronous version of erase.
  /// @param key  key or folder path
  awaitable<void> async_erase(std::string key);
  /// Calls a handler for each existing key in a folder, and then for each change. Polls every
  /// coordination_options::watch_interval, so only the last change of a key in each interval is
  /// reported. Ends when the agent disconnects or fails.
  /// @param folder  folder path
  /// @param on_change  called on a library thread; must be short and must not throw or wait
  /// @return an object that stops the watch when it is destroyed
  key_watch watch(std::string folder, std::function<void(key_change const&)> on_change);

  /// Waits until all participants have called this function.
  /// @param id  barrier ID
  /// @param timeout  counted from the first arrival; ends the barrier for all tasks
  /// @param participants  task numbers; if empty, all tasks
  /// @return how many times this ID was used before
  /// @throws coordination_barrier_error  the barrier ended without all participants
  /// @throws coordination_error  failed_precondition: this agent is already waiting at this barrier
  std::int64_t barrier(std::string id, milliseconds timeout,
                       std::vector<std::uint32_t> participants = {});
  /// Asynchronous version of barrier.
  /// @param id  barrier ID
  /// @param timeout  counted from the first arrival; ends the barrier for all tasks
  /// @param participants  task numbers; if empty, all tasks
  awaitable<std::int64_t> async_barrier(std::string id, milliseconds timeout,
                                        std::vector<std::uint32_t> participants = {});
  /// Cancels the barrier: all waiting tasks throw coordination_barrier_error (cancelled). If the ID
  /// has never been used, its first use is cancelled, and each task that arrives throws this error.
  /// @param id  barrier ID
  /// @throws coordination_error  failed_precondition: the last use of the ID has ended and no task
  ///   is waiting for the next use
  void cancel_barrier(std::string id);
  /// Asynchronous version of cancel_barrier.
  /// @param id  barrier ID
  awaitable<void> async_cancel_barrier(std::string id);
  /// Withdraws this agent's own barrier call, which then throws coordination_error (cancelled). The
  /// barrier still waits for this task.
  /// @param id  barrier ID
  /// @return false if this agent is not waiting at the barrier
  bool leave_barrier(std::string id);

  /// Reports a failure of this task to all tasks, and puts this agent into the failed state.
  /// @param code  error code
  /// @param message  error description
  void report_error(coordination_code code, std::string message);
  /// Asynchronous version of report_error.
  /// @param code  error code
  /// @param message  error description
  awaitable<void> async_report_error(coordination_code code, std::string message);
  /// Returns the error that ended the run, if any.
  std::optional<agent_error> error() const;
  /// Waits for an error that ends the run.
  /// @param timeout  maximum time to wait
  /// @return nothing on timeout or if the agent was shut down
  std::optional<agent_error> wait_for_error(milliseconds timeout);
  /// Asynchronous version of wait_for_error.
  /// @param timeout  maximum time to wait
  awaitable<std::optional<agent_error>> async_wait_for_error(milliseconds timeout);

  /// Returns the states of all tasks.
  task_list tasks();
  /// Asynchronous version of tasks.
  awaitable<task_list> async_tasks();
  /// Waits until the task list has changed, and returns it.
  /// @param version  task_list::version of the caller's list
  /// @param timeout  maximum time to wait
  task_list wait_for_tasks(std::int64_t version, milliseconds timeout);
  /// Asynchronous version of wait_for_tasks.
  /// @param version  task_list::version of the caller's list
  /// @param timeout  maximum time to wait
  awaitable<task_list> async_wait_for_tasks(std::int64_t version, milliseconds timeout);
  /// Waits until all connected tasks in `among` have made the same call. Returns the same list of
  /// these tasks to each caller.
  /// @param among  task numbers, including this task's; if empty, all tasks
  /// @param timeout  maximum time to wait
  std::vector<live_task> live_tasks(std::vector<std::uint32_t> among, milliseconds timeout);
  /// Asynchronous version of live_tasks.
  /// @param among  task numbers, including this task's; if empty, all tasks
  /// @param timeout  maximum time to wait
  awaitable<std::vector<live_task>> async_live_tasks(std::vector<std::uint32_t> among,
                                                     milliseconds timeout);

 private:
  std::shared_ptr<client_engine> engine_;  // the engine must outlive the agent's calls
  std::shared_ptr<detail::agent> agent_;
};

}  // namespace muster
