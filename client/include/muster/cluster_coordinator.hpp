// Calls functions on the workers of a cluster and waits for their results.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "muster/checkpoints.hpp"
#include "muster/coordinator_options.hpp"
#include "muster/detail/argument_text.hpp"
#include "muster/object_options.hpp"
#include "muster/per_worker_value.hpp"
#include "muster/remote_object.hpp"
#include "muster/remote_value.hpp"
#include "muster/variable.hpp"

namespace muster {

class client_engine;
class cluster_coordinator;

namespace detail {

template <class Result>
boost::asio::awaitable<std::vector<remote_value<Result>>> values_of(
    boost::asio::awaitable<std::vector<std::shared_ptr<value_handle const>>> putting) {
  auto handles = co_await std::move(putting);
  std::vector<remote_value<Result>> values;
  for (auto& handle : handles) values.emplace_back(std::move(handle));
  co_return values;
}

}  // namespace detail

/// A coordinator together with options for the calls that are made through it. Valid while the
/// coordinator exists. Each member behaves like the coordinator's member of the same name.
class scheduling {
 public:
  /// Combines a coordinator with call options; cluster_coordinator::with is the usual way to do
  /// this.
  /// @param c  the coordinator; must outlive this object
  /// @param o  the options of each call
  scheduling(cluster_coordinator& c, closure_options o)
      : coordinator_(c), options_(std::make_shared<closure_options const>(std::move(o))) {}

  /// Submits a call; see cluster_coordinator::submit.
  /// @param function  name of the function
  /// @param args  JSON arguments
  /// @return a handle of the output
  template <class Result, class... Args>
  remote_value<Result> submit(std::string_view function, Args const&... args) const;
  /// Asynchronous version of submit; see cluster_coordinator::async_submit.
  /// @param function  name of the function
  /// @param args  JSON arguments
  /// @return a handle of the output
  template <class Result, class... Args>
  boost::asio::awaitable<remote_value<Result>> async_submit(std::string function,
                                                            Args... args) const;
  /// Submits a call with encoded arguments; see cluster_coordinator::submit_raw.
  /// @param function  name of the function
  /// @param args  a JSON array, an object with args and kwargs, or bytes
  /// @return a handle of the output
  template <class Result>
  remote_value<Result> submit_raw(std::string_view function, value_view args) const;
  /// Submits calls that start together; see cluster_coordinator::submit_gang.
  /// @param function  name of the function
  /// @param members  the arguments of each call
  /// @return the handles of the outputs
  template <class Result, class... Args>
  std::vector<remote_value<Result>> submit_gang(
      std::string_view function, std::vector<std::tuple<Args...>> const& members) const;
  /// Asynchronous version of submit_gang; see cluster_coordinator::async_submit_gang.
  /// @param function  name of the function
  /// @param members  the arguments of each call
  /// @return the handles of the outputs
  template <class Result, class... Args>
  boost::asio::awaitable<std::vector<remote_value<Result>>> async_submit_gang(
      std::string function, std::vector<std::tuple<Args...>> members) const;

  /// Schedules a call; see cluster_coordinator::schedule.
  /// @param function  name of the function
  /// @param args  JSON arguments
  /// @return a handle of the output
  template <class Result, class... Args>
  remote_value<Result> schedule(std::string_view function, Args const&... args) const;
  /// Schedules a call with encoded arguments; see cluster_coordinator::schedule_raw.
  /// @param function  name of the function
  /// @param args  a JSON array, an object with args and kwargs, or bytes
  /// @return a handle of the output
  template <class Result>
  remote_value<Result> schedule_raw(std::string_view function, value_view args) const;
  /// Schedules calls that start together; see cluster_coordinator::schedule_gang.
  /// @param function  name of the function
  /// @param members  the arguments of each call
  /// @return the handles of the outputs
  template <class Result, class... Args>
  std::vector<remote_value<Result>> schedule_gang(
      std::string_view function, std::vector<std::tuple<Args...>> const& members) const;

 private:
  template <class... Args>
  std::vector<detail::request> gang_of(std::string_view function,
                                       std::vector<std::tuple<Args...>> const& members) const;

  cluster_coordinator& coordinator_;
  std::shared_ptr<closure_options const> options_;
};

/// Calls functions on the workers of a cluster and waits for their results.
///
/// @code
/// muster::cluster_coordinator c({.server = "127.0.0.1:8476", .name = "training"});
/// muster::remote_value<int> sum = c.submit<int>("add", 1, 2);
/// auto more = c.submit<int>("add", sum, 3);  // takes an output as an argument, without waiting
/// more.fetch();                              // 6, or throws the error of this call
/// @endcode
///
/// Calls run at least once, finish once, and run in any order. A call is submitted or scheduled:
/// - submit: each call has its own error, which affects no other call.
/// - schedule: follows TensorFlow's ClusterCoordinator. The first error cancels the other scheduled
///   calls. When all of them have ended, the next schedule, join or done throws the error once. The
///   coordinator then continues with the next generation.
///
/// Every member may be called from any thread.
class cluster_coordinator {
 public:
  /// Unit of all timeouts.
  using milliseconds = std::chrono::milliseconds;

  /// Starts connecting and returns at once.
  /// @param options  the server, name, limits and times
  explicit cluster_coordinator(coordinator_options options);
  /// Cancels unfinished calls and closes the session, unless coordinator_options::detached is set.
  /// Values that this process has already received stay readable through their handles. No thread
  /// keeps running for this coordinator.
  ~cluster_coordinator();
  cluster_coordinator(cluster_coordinator const&) = delete;
  cluster_coordinator& operator=(cluster_coordinator const&) = delete;

  /// Waits until the server has opened the session. Other members do not require this.
  /// @throws unavailable_error  the server refused the session, or did not answer within
  ///   coordinator_options::connect_timeout
  void wait_open();
  /// Returns the session's ID, "job_…", as REST shows it. Precondition: wait_open() has returned.
  std::string id() const;

  /// Submits a call of a function that workers provide. Its error is thrown only when its value is
  /// fetched. Errors of other calls do not cancel it. It is cancelled by remote_value::cancel,
  /// cancel(), or the end of the coordinator. join() waits for it. Waits while the queue is full.
  /// Older servers do not support this; with them the call is scheduled.
  /// @tparam Result  the function's result type; void ignores the result
  /// @param function  name of the function
  /// @param args  JSON arguments; the last of them can be named (keyword.hpp). Each remote_value
  ///   among them is replaced by its value on the worker. It can be nested in vectors, maps, tuples
  ///   and optionals.
  /// @return a handle of the output
  /// @throws wait_timeout  the queue stayed full for coordinator_options::schedule_timeout
  /// @throws unavailable_error  the session has ended
  /// @throws std::invalid_argument  the arguments are too large, a name is used twice, or an
  ///   argument is a value of another coordinator that is not ready
  template <class Result, class... Args>
  remote_value<Result> submit(std::string_view function, Args const&... args) {
    return remote_value<Result>(put(submitted(request_of(function, args...))));
  }
  /// Asynchronous version of submit, for a coroutine on any executor. Suspends while the queue is
  /// full. If the wait is cancelled, nothing is submitted.
  /// @param function  name of the function
  /// @param args  JSON arguments, as for submit
  /// @return a handle of the output
  /// @throws boost::system::system_error  operation_aborted: the wait was cancelled
  /// @throws wait_timeout, unavailable_error, std::invalid_argument  as submit
  template <class Result, class... Args>
  boost::asio::awaitable<remote_value<Result>> async_submit(std::string function, Args... args) {
    auto request = submitted(request_of(function, args...));
    auto putting = async_put(std::move(request));
    auto handle = co_await std::move(putting);
    co_return remote_value<Result>(std::move(handle));
  }
  /// Submits a call whose arguments are already encoded.
  /// @param function  name of the function
  /// @param args  a JSON array, {"args":[…],"kwargs":{…}}, or bytes
  /// @return a handle of the output
  /// @throws wait_timeout, unavailable_error, std::invalid_argument  as submit
  template <class Result>
  remote_value<Result> submit_raw(std::string_view function, value_view args) {
    return remote_value<Result>(put(submitted(raw_request(function, args))));
  }
  /// Submits one call for each tuple of arguments (a gang). The calls start at the same time, each
  /// in its own slot; none starts before all can. If a call ends before the start, for example
  /// because its input failed, the others are cancelled. After the start the calls are independent.
  /// Other calls are not affected. A call must not depend on the output of another call of the
  /// gang.
  /// @param function  name of the function
  /// @param members  the arguments of each call, 1 to 1024 tuples
  /// @return the handles of the outputs, in the order of `members`
  /// @throws wait_timeout, unavailable_error  as submit
  /// @throws std::invalid_argument  as submit, or the number of tuples is 0 or above 1024
  template <class Result, class... Args>
  std::vector<remote_value<Result>> submit_gang(std::string_view function,
                                                std::vector<std::tuple<Args...>> const& members) {
    return with({}).submit_gang<Result>(function, members);
  }
  /// Asynchronous version of submit_gang. Suspends while the queue is full, like async_submit.
  /// @param function  name of the function
  /// @param members  the arguments of each call, 1 to 1024 tuples
  /// @return the handles of the outputs, in the order of `members`
  template <class Result, class... Args>
  boost::asio::awaitable<std::vector<remote_value<Result>>> async_submit_gang(
      std::string function, std::vector<std::tuple<Args...>> members) {
    return with({}).async_submit_gang<Result>(std::move(function), std::move(members));
  }

  /// Schedules a call. Its error cancels the other scheduled calls; prefer submit unless you need
  /// that. Waits while the queue is full.
  /// @param function  name of the function
  /// @param args  JSON arguments, as for submit
  /// @return a handle of the output
  /// @throws closure_error  or a subtype: the pending error of this generation; nothing is
  ///   scheduled
  /// @throws wait_timeout, unavailable_error, std::invalid_argument  as submit
  template <class Result, class... Args>
  remote_value<Result> schedule(std::string_view function, Args const&... args) {
    return remote_value<Result>(put(request_of(function, args...)));
  }
  /// Asynchronous version of schedule, for a coroutine on any executor. Suspends while the queue is
  /// full, or while calls cancelled by an error are still ending. If the wait is cancelled, nothing
  /// is scheduled.
  /// @param function  name of the function
  /// @param args  JSON arguments, as for submit
  /// @return a handle of the output
  /// @throws boost::system::system_error  operation_aborted: the wait was cancelled
  template <class Result, class... Args>
  boost::asio::awaitable<remote_value<Result>> async_schedule(std::string function, Args... args) {
    auto request = request_of(function, args...);
    auto putting = async_put(std::move(request));
    auto handle = co_await std::move(putting);
    co_return remote_value<Result>(std::move(handle));
  }
  /// Schedules a call whose arguments are already encoded; throws as schedule.
  /// @param function  name of the function
  /// @param args  a JSON array, {"args":[…],"kwargs":{…}}, or bytes
  /// @return a handle of the output
  template <class Result>
  remote_value<Result> schedule_raw(std::string_view function, value_view args) {
    return remote_value<Result>(put(raw_request(function, args)));
  }
  /// Schedules one call for each tuple of arguments. They start together as in submit_gang.
  /// @param function  name of the function
  /// @param members  the arguments of each call, 1 to 1024 tuples
  /// @return the handles of the outputs, in the order of `members`
  /// @throws std::invalid_argument  as schedule, or the number of tuples is 0 or above 1024
  template <class Result, class... Args>
  std::vector<remote_value<Result>> schedule_gang(std::string_view function,
                                                  std::vector<std::tuple<Args...>> const& members) {
    return with({}).schedule_gang<Result>(function, members);
  }
  /// Returns this coordinator with call options: `c.with({.priority = 5}).submit<int>("f")`.
  /// @param options  apply to each call that is made through the returned object
  /// @return valid while this coordinator exists
  scheduling with(closure_options options) { return {*this, std::move(options)}; }

  /// Makes every worker that has the function, now or later, build a value and keep it. Returns
  /// when the server has accepted the request, before the value is built. An error or cancellation
  /// of the session does not affect the value. join and done do not wait for it.
  /// @param function  name of the function that builds the value
  /// @param args  JSON arguments without handles, because the value is rebuilt when a worker
  ///   reconnects
  /// @return a handle that can be an argument of calls
  /// @throws input_error  the server refused the request because it keeps too many values
  /// @throws unavailable_error  the session has ended
  /// @throws std::invalid_argument  the arguments are too large or contain handles
  template <class... Args>
  per_worker_value create_per_worker_value(std::string_view function, Args const&... args) {
    return create(request_of(function, args...));
  }
  /// Asynchronous version of create_per_worker_value, for a coroutine on any executor.
  /// @param function  name of the function that builds the value
  /// @param args  JSON arguments without handles
  /// @return a handle that can be an argument of calls
  template <class... Args>
  boost::asio::awaitable<per_worker_value> async_create_per_worker_value(std::string function,
                                                                         Args... args) {
    return async_create(request_of(function, args...));
  }

  /// Creates an object of a class on a task; see docs/objects.md. Waits for outputs among the
  /// arguments. Returns when the server has accepted the request, even if the task is not connected
  /// yet. An error of the constructor is thrown by calls of the object.
  /// @param options  the task, the name and the lifetime
  /// @param class_name  the class, as its worker registered it
  /// @param args  arguments of the constructor, as for schedule
  /// @return a handle of the object
  /// @throws closure_error  the server refused the request, for example because the name is taken
  /// @throws unavailable_error  the session has ended
  /// @throws std::invalid_argument  names the invalid option
  template <class... Args>
  remote_object create(object_options const& options, std::string_view class_name,
                       Args const&... args) {
    return make_object(options, request_of(class_name, args...));
  }
  /// Returns a handle of the object with this name.
  /// @param name  the object's object_options::name
  /// @throws closure_error  no object has this name
  /// @throws unavailable_error  the session has ended
  remote_object get_object(std::string const& name);

  /// Creates a variable filled with zeros or ones, on one task or sharded by rows; see
  /// muster::variable. Throws as create.
  /// @param o  the name, the tasks, the partitioner and the lifetime
  /// @param of  the shape
  template <class T>
  variable<T> make_variable(variable_options const& o, shape const& of) {
    return variable<T>(make_variable_core(o, detail::dtype_of<T>, of, nullptr));
  }
  /// Creates a variable with initial values. If a task receives more than 24 MiB, waits until all
  /// of it has arrived.
  /// @param o  the name, the tasks, the partitioner and the lifetime
  /// @param of  the shape
  /// @param values  the elements in C order
  /// @throws std::invalid_argument  the number of values does not match the shape
  /// @throws closure_error  as create, or the error of the task
  template <class T>
  variable<T> make_variable(variable_options const& o, shape const& of, std::span<T const> values) {
    std::uint64_t n = 1;
    for (auto const d : of) n *= d;
    if (values.size() != n)
      throw std::invalid_argument("shape: " + detail::shown(of) + ", there are " +
                                  std::to_string(values.size()) + " numbers");
    auto const all = detail::view_of(values, of);
    return variable<T>(make_variable_core(o, detail::dtype_of<T>, of, &all));
  }
  /// Creates a variable with initial values from a vector.
  /// @param o  the name, the tasks, the partitioner and the lifetime
  /// @param of  the shape
  /// @param values  the elements in C order
  template <class T>
  variable<T> make_variable(variable_options const& o, shape const& of,
                            std::vector<T> const& values) {
    return make_variable<T>(o, of, std::span<T const>(values));
  }
  /// Returns a handle of the variable with this name, sharded or not, made by any coordinator.
  /// Waits until the variable's task has returned the shape. Throws as get_object.
  /// @param name  the variable's variable_options::name
  /// @throws std::invalid_argument  the object is not a variable with elements of type T
  template <class T>
  variable<T> get_variable(std::string const& name) {
    return variable<T>(find_variable_core(name));
  }

  /// Writes a checkpoint of all variables that this coordinator has created or found, and of all
  /// objects that it has created with object_options::saved. Each shard is saved between two of its
  /// calls. Python can read the checkpoint.
  /// @param path  a directory that only this program needs to access
  /// @param o  how many checkpoints to keep and whether to pause calls
  /// @return the number of the checkpoint, once it is on disk
  /// @throws std::invalid_argument  a variable has no name, or checkpoint_options::keep is 0
  /// @throws std::system_error  a file could not be written
  /// @throws closure_error  the error of a call, or with `quiesce` the pending error
  /// @throws wait_timeout  with `quiesce`: calls did not end in time
  std::uint64_t save(std::string const& path, checkpoint_options const& o = {});
  /// Loads the newest complete checkpoint into everything that save() would save. Create those
  /// variables and objects first. They are matched by name, with any number of shards; other
  /// entries of the checkpoint are ignored.
  /// @param path  the directory given to save()
  /// @return the number of the checkpoint, or nothing if there is no checkpoint
  /// @throws std::invalid_argument  no checkpoint is complete, or the newest lacks an entry or has
  ///   another shape; nothing was loaded
  /// @throws closure_error  the error of a call
  std::optional<std::uint64_t> restore(std::string const& path);
  /// Saves checkpoints at intervals, on a thread of its own; see periodic_checkpoints.
  /// @param path  the directory
  /// @param every  the interval
  /// @param o  how many checkpoints to keep and whether to pause calls
  /// @return stops saving when it is destroyed
  /// @throws std::invalid_argument  `every` or `keep` is invalid
  [[nodiscard]] periodic_checkpoints checkpoints(std::string const& path, milliseconds every,
                                                 checkpoint_options const& o = {.keep = 3});

  /// Waits until all calls submitted or scheduled before this one have ended. Calls that other
  /// threads add later do not prolong the wait.
  /// @param timeout  the longest wait
  /// @return false if the calls did not end within `timeout`
  /// @throws closure_error  or a subtype: the pending error of this generation
  /// @throws unavailable_error  the session has ended
  bool join(milliseconds timeout = detail::for_ever);
  /// Asynchronous version of join, for a coroutine on any executor.
  /// @param timeout  the longest wait
  boost::asio::awaitable<bool> async_join(milliseconds timeout = detail::for_ever);
  /// Returns true if all calls have ended. After an error, first waits until the cancelled calls
  /// have ended, and then throws the error.
  bool done();

  /// Fetches all remote_values of a structure: nested vectors, arrays, maps by string, tuples,
  /// pairs and optionals.
  /// @param s  the structure
  /// @param timeout  the longest wait for all values together
  /// @return the same structure with values; other members are copied
  /// @throws closure_error  or a subtype: the first error met
  /// @throws wait_timeout  a value was not ready in time
  template <class Structure>
  auto fetch(Structure const& s, milliseconds timeout = detail::for_ever) {
    return detail::fetch_all(s, std::chrono::steady_clock::now() + timeout);
  }

  /// Cancels queued calls and asks running calls to stop. Calls scheduled later are not affected,
  /// but wait until these have ended. No member throws an error for this; each value has its own.
  void cancel();
  /// Returns the errors of scheduled calls in the order in which they ended, at most the first
  /// 1,000. Cancelled calls are left out. Covers this generation or, if it has no errors, the
  /// newest that failed.
  std::vector<failure> failures() const;

  /// Builds a request; used only by submit and schedule.
  /// @param function  name of the function
  /// @param args  JSON arguments
  template <class... Args>
  static detail::request request_of(std::string_view function, Args const&... args) {
    detail::request r{std::string(function), {}, encoding::json, {}, {}, {}, {}};
    detail::append_arguments(r, args...);
    return r;
  }
  /// Builds a request with encoded arguments; used only by submit_raw and schedule_raw.
  /// @param function  name of the function
  /// @param args  encoded arguments
  static detail::request raw_request(std::string_view function, value_view args) {
    return {std::string(function), std::string(args.bytes), args.encoding, {}, {}, {}, {}};
  }
  /// Marks a request as submitted instead of scheduled.
  /// @param r  the request
  static detail::request submitted(detail::request r) {
    r.own_error = true;
    return r;
  }
  /// Sends a request; used only by submit and schedule.
  /// @param r  the request
  std::shared_ptr<detail::value_handle const> put(detail::request r);
  /// Asynchronous version of put.
  /// @param r  the request
  boost::asio::awaitable<std::shared_ptr<detail::value_handle const>> async_put(detail::request r);
  /// Sends the requests of a gang.
  /// @param all  the requests
  std::vector<std::shared_ptr<detail::value_handle const>> put_gang(
      std::vector<detail::request> all);
  /// Asynchronous version of put_gang.
  /// @param all  the requests
  boost::asio::awaitable<std::vector<std::shared_ptr<detail::value_handle const>>> async_put_gang(
      std::vector<detail::request> all);
  /// Sends the request of create_per_worker_value.
  /// @param r  the request
  per_worker_value create(detail::request r);
  /// Sends the request of create.
  /// @param o  options of the object
  /// @param r  the request
  remote_object make_object(object_options const& o, detail::request r);
  /// Asynchronous version of create, for async_create_per_worker_value.
  /// @param r  the request
  boost::asio::awaitable<per_worker_value> async_create(detail::request r);

 private:
  void refuse_to_wait_for_itself() const;
  std::shared_ptr<detail::variable_core const> make_variable_core(variable_options const& o,
                                                                  std::string_view dtype,
                                                                  shape const& of,
                                                                  detail::array_view const* values);
  std::shared_ptr<detail::variable_core const> find_variable_core(std::string const& name);

  std::shared_ptr<client_engine> engine_;  // outlives the session's stream
  std::shared_ptr<detail::coordinator_session> session_;
};

template <class Result, class... Args>
remote_value<Result> scheduling::submit(std::string_view function, Args const&... args) const {
  auto r = cluster_coordinator::submitted(cluster_coordinator::request_of(function, args...));
  r.options = options_;
  return remote_value<Result>(coordinator_.put(std::move(r)));
}

template <class Result, class... Args>
boost::asio::awaitable<remote_value<Result>> scheduling::async_submit(std::string function,
                                                                      Args... args) const {
  auto r = cluster_coordinator::submitted(cluster_coordinator::request_of(function, args...));
  r.options = options_;
  auto putting = coordinator_.async_put(std::move(r));
  auto handle = co_await std::move(putting);
  co_return remote_value<Result>(std::move(handle));
}

template <class Result>
remote_value<Result> scheduling::submit_raw(std::string_view function, value_view args) const {
  auto r = cluster_coordinator::submitted(cluster_coordinator::raw_request(function, args));
  r.options = options_;
  return remote_value<Result>(coordinator_.put(std::move(r)));
}

template <class Result, class... Args>
remote_value<Result> scheduling::schedule(std::string_view function, Args const&... args) const {
  auto r = cluster_coordinator::request_of(function, args...);
  r.options = options_;
  return remote_value<Result>(coordinator_.put(std::move(r)));
}

template <class Result>
remote_value<Result> scheduling::schedule_raw(std::string_view function, value_view args) const {
  auto r = cluster_coordinator::raw_request(function, args);
  r.options = options_;
  return remote_value<Result>(coordinator_.put(std::move(r)));
}

template <class... Args>
std::vector<detail::request> scheduling::gang_of(
    std::string_view function, std::vector<std::tuple<Args...>> const& members) const {
  std::vector<detail::request> all;
  for (auto const& m : members) {
    auto& r = all.emplace_back(std::apply(
        [&](auto const&... args) { return cluster_coordinator::request_of(function, args...); },
        m));
    r.options = options_;
  }
  return all;
}

template <class Result, class... Args>
std::vector<remote_value<Result>> scheduling::schedule_gang(
    std::string_view function, std::vector<std::tuple<Args...>> const& members) const {
  std::vector<remote_value<Result>> values;
  for (auto& handle : coordinator_.put_gang(gang_of(function, members)))
    values.emplace_back(std::move(handle));
  return values;
}

template <class Result, class... Args>
std::vector<remote_value<Result>> scheduling::submit_gang(
    std::string_view function, std::vector<std::tuple<Args...>> const& members) const {
  auto all = gang_of(function, members);
  for (auto& r : all) r.own_error = true;
  std::vector<remote_value<Result>> values;
  for (auto& handle : coordinator_.put_gang(std::move(all))) values.emplace_back(std::move(handle));
  return values;
}

// Does not use this object after suspending: the coordinator outlives the call, this object may
// not.
template <class Result, class... Args>
boost::asio::awaitable<std::vector<remote_value<Result>>> scheduling::async_submit_gang(
    std::string function, std::vector<std::tuple<Args...>> members) const {
  auto all = gang_of(function, members);
  for (auto& r : all) r.own_error = true;
  return detail::values_of<Result>(coordinator_.async_put_gang(std::move(all)));
}

/// Runs a block of the client's program. If it throws unavailable_error, ends the process with the
/// exit status in the environment variable TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE, so that a
/// supervisor restarts it. Rethrows the error if the variable is unset or not a number.
/// @param block  a callable without parameters
/// @return the result of `block`
template <class F>
decltype(auto) handle_parameter_server_failure(F&& block) {
  try {
    return std::forward<F>(block)();
  } catch (unavailable_error const&) {
    auto const* text = std::getenv("TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE");
    char* end = nullptr;
    auto const code = text ? std::strtol(text, &end, 10) : 0;
    if (!text || end == text || *end != '\0') throw;
    std::exit(static_cast<int>(code));
  }
}

}  // namespace muster
