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

/// A coordinator combined with call options; see cluster_coordinator::with. The coordinator must
/// outlive this object.
class scheduling {
 public:
  /// Combines a coordinator with call options.
  /// @param c  the coordinator; must outlive this object
  /// @param o  the options of each call
  scheduling(cluster_coordinator& c, closure_options o)
      : coordinator_(c), options_(std::make_shared<closure_options const>(std::move(o))) {}

  /// See cluster_coordinator::submit.
  /// @param function  function name
  /// @param args  JSON arguments
  /// @return the output handle
  template <class Result, class... Args>
  remote_value<Result> submit(std::string_view function, Args const&... args) const;
  /// See cluster_coordinator::async_submit.
  /// @param function  function name
  /// @param args  JSON arguments
  /// @return the output handle
  template <class Result, class... Args>
  boost::asio::awaitable<remote_value<Result>> async_submit(std::string function,
                                                            Args... args) const;
  /// See cluster_coordinator::submit_raw.
  /// @param function  function name
  /// @param args  a JSON array, an object with args and kwargs, or bytes
  /// @return the output handle
  template <class Result>
  remote_value<Result> submit_raw(std::string_view function, value_view args) const;
  /// See cluster_coordinator::submit_gang.
  /// @param function  function name
  /// @param members  the arguments of each call
  /// @return the output handles
  template <class Result, class... Args>
  std::vector<remote_value<Result>> submit_gang(
      std::string_view function, std::vector<std::tuple<Args...>> const& members) const;
  /// See cluster_coordinator::async_submit_gang.
  /// @param function  function name
  /// @param members  the arguments of each call
  /// @return the output handles
  template <class Result, class... Args>
  boost::asio::awaitable<std::vector<remote_value<Result>>> async_submit_gang(
      std::string function, std::vector<std::tuple<Args...>> members) const;

  /// See cluster_coordinator::schedule.
  /// @param function  function name
  /// @param args  JSON arguments
  /// @return the output handle
  template <class Result, class... Args>
  remote_value<Result> schedule(std::string_view function, Args const&... args) const;
  /// See cluster_coordinator::schedule_raw.
  /// @param function  function name
  /// @param args  a JSON array, an object with args and kwargs, or bytes
  /// @return the output handle
  template <class Result>
  remote_value<Result> schedule_raw(std::string_view function, value_view args) const;
  /// See cluster_coordinator::schedule_gang.
  /// @param function  function name
  /// @param members  the arguments of each call
  /// @return the output handles
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
/// muster::cluster_coordinator c({.server = "127.0.0.1:8476",.name = "training"});
/// muster::remote_value<int> sum = c.submit<int>("add", 1, 2);
/// auto more = c.submit<int>("add", sum, 3);  // takes an output as an argument, without waiting
/// more.fetch();                              // 6, or throws the call's error
/// @endcode
///
/// Each call runs at least once and has exactly one result. Calls run in any order. A call is
/// either submitted or scheduled:
/// - submit: calls fail independently of each other.
/// - schedule: calls have the semantics of TensorFlow's ClusterCoordinator. The first error cancels
///   the other scheduled calls. When all scheduled calls have finished, the next schedule, join or
///   done throws the error once. The coordinator then begins a new generation of scheduled calls.
///
/// Members may be called from any thread. Coroutines on any executor can await the asynchronous
/// versions.
class cluster_coordinator {
 public:
  /// Unit of timeouts.
  using milliseconds = std::chrono::milliseconds;

  /// Starts connecting and returns immediately.
  /// @param options  session options
  explicit cluster_coordinator(coordinator_options options);
  /// Cancels unfinished calls and closes the session, unless coordinator_options::detached is set.
  /// Values that this process has already received stay readable through their handles. Stops all
  /// threads of this coordinator.
  ~cluster_coordinator();
  cluster_coordinator(cluster_coordinator const&) = delete;
  cluster_coordinator& operator=(cluster_coordinator const&) = delete;

  /// Waits until the server has opened the session. Calling wait_open() is optional.
  /// @throws unavailable_error  the server refused the session, or did not answer within
  ///   coordinator_options::connect_timeout
  void wait_open();
  /// Returns the session's ID, "job_…", as shown by REST. Precondition: wait_open() has returned.
  std::string id() const;

  /// Submits a call of a function that workers provide. Waits while the queue is full. If the call
  /// fails, its error is thrown only when its value is fetched, and other calls are not cancelled.
  /// The call can be cancelled by remote_value::cancel, by cancel(), and by destroying the
  /// coordinator. An older server that does not support submit schedules the call instead.
  /// @tparam Result  the function's result type; void ignores the result
  /// @param function  function name
  /// @param args  JSON arguments; the last arguments can be passed by name (keyword.hpp). The
  ///   worker receives the value of each remote_value, which can be nested in vectors, maps, tuples
  ///   and optionals.
  /// @return the output handle
  /// @throws wait_timeout  the queue stayed full for coordinator_options::schedule_timeout
  /// @throws unavailable_error  the session has ended
  /// @throws std::invalid_argument  the arguments are too large, a name is used twice, or an
  ///   argument is an unfinished value of another coordinator
  template <class Result, class... Args>
  remote_value<Result> submit(std::string_view function, Args const&... args) {
    return remote_value<Result>(put(submitted(request_of(function, args...))));
  }
  /// Asynchronous version of submit. Suspends while the queue is full. If the wait is cancelled,
  /// nothing is submitted.
  /// @param function  function name
  /// @param args  JSON arguments, as for submit
  /// @return the output handle
  /// @throws boost::system::system_error  operation_aborted: the wait was cancelled
  /// @throws wait_timeout, unavailable_error, std::invalid_argument  see submit
  template <class Result, class... Args>
  boost::asio::awaitable<remote_value<Result>> async_submit(std::string function, Args... args) {
    auto request = submitted(request_of(function, args...));
    auto putting = async_put(std::move(request));
    auto handle = co_await std::move(putting);
    co_return remote_value<Result>(std::move(handle));
  }
  /// Submits a call whose arguments are already encoded.
  /// @param function  function name
  /// @param args  a JSON array, {"args":[…],"kwargs":{…}}, or bytes
  /// @return the output handle
  /// @throws wait_timeout, unavailable_error, std::invalid_argument  see submit
  template <class Result>
  remote_value<Result> submit_raw(std::string_view function, value_view args) {
    return remote_value<Result>(put(submitted(raw_request(function, args))));
  }
  /// Submits one call for each tuple of arguments (a gang). The calls start together, each in its
  /// own slot, once all of them can start. If a call of the gang finishes before the start, for
  /// example because its input failed, the rest of the gang is cancelled. After the start, the
  /// calls are independent. A call must not depend on the output of another call of the same gang.
  /// @param function  function name
  /// @param members  the arguments of each call, 1 to 1024 tuples
  /// @return the output handles, ordered like `members`
  /// @throws wait_timeout, unavailable_error  see submit
  /// @throws std::invalid_argument  see submit; also if the number of tuples is 0 or above 1024
  template <class Result, class... Args>
  std::vector<remote_value<Result>> submit_gang(std::string_view function,
                                                std::vector<std::tuple<Args...>> const& members) {
    return with({}).submit_gang<Result>(function, members);
  }
  /// Asynchronous version of submit_gang.
  /// @param function  function name
  /// @param members  the arguments of each call, 1 to 1024 tuples
  /// @return the output handles, ordered like `members`
  template <class Result, class... Args>
  boost::asio::awaitable<std::vector<remote_value<Result>>> async_submit_gang(
      std::string function, std::vector<std::tuple<Args...>> members) {
    return with({}).async_submit_gang<Result>(std::move(function), std::move(members));
  }

  /// Schedules a call; waits while the queue is full. If the call fails, all other scheduled calls
  /// are cancelled. Prefer submit unless you need this cancellation.
  /// @param function  function name
  /// @param args  JSON arguments, as for submit
  /// @return the output handle
  /// @throws closure_error  or a subtype: the pending error of this generation; nothing is
  ///   scheduled
  /// @throws wait_timeout, unavailable_error, std::invalid_argument  see submit
  template <class Result, class... Args>
  remote_value<Result> schedule(std::string_view function, Args const&... args) {
    return remote_value<Result>(put(request_of(function, args...)));
  }
  /// Asynchronous version of schedule. Suspends while the queue is full. After an error, suspends
  /// until the cancelled calls have finished. If the wait is cancelled, nothing is scheduled.
  /// @param function  function name
  /// @param args  JSON arguments, as for submit
  /// @return the output handle
  /// @throws boost::system::system_error  operation_aborted: the wait was cancelled
  template <class Result, class... Args>
  boost::asio::awaitable<remote_value<Result>> async_schedule(std::string function, Args... args) {
    auto request = request_of(function, args...);
    auto putting = async_put(std::move(request));
    auto handle = co_await std::move(putting);
    co_return remote_value<Result>(std::move(handle));
  }
  /// Schedules a call whose arguments are already encoded. Throws the same exceptions as schedule.
  /// @param function  function name
  /// @param args  a JSON array, {"args":[…],"kwargs":{…}}, or bytes
  /// @return the output handle
  template <class Result>
  remote_value<Result> schedule_raw(std::string_view function, value_view args) {
    return remote_value<Result>(put(raw_request(function, args)));
  }
  /// Schedules one call for each tuple of arguments. The calls start together, as in submit_gang.
  /// @param function  function name
  /// @param members  the arguments of each call, 1 to 1024 tuples
  /// @return the output handles, ordered like `members`
  /// @throws std::invalid_argument  see schedule; also if the number of tuples is 0 or above 1024
  template <class Result, class... Args>
  std::vector<remote_value<Result>> schedule_gang(std::string_view function,
                                                  std::vector<std::tuple<Args...>> const& members) {
    return with({}).schedule_gang<Result>(function, members);
  }
  /// Returns this coordinator with call options: `c.with({.priority = 5}).submit<int>("f")`.
  /// @param options  options of each call
  /// @return an object that is valid while this coordinator exists
  scheduling with(closure_options options) { return {*this, std::move(options)}; }

  /// Makes every worker that provides the function, now or later, build a value and keep it.
  /// Returns once the server has accepted the request, before the value is built. The members join
  /// and done do not wait for the value. Errors and cancellation of the session do not affect the
  /// value.
  /// @param function  name of the builder function
  /// @param args  JSON arguments without handles, because the value is rebuilt when a worker
  ///   reconnects
  /// @return a handle to pass as a call argument
  /// @throws input_error  the server already stores too many values
  /// @throws unavailable_error  the session has ended
  /// @throws std::invalid_argument  the arguments are too large or contain handles
  template <class... Args>
  per_worker_value create_per_worker_value(std::string_view function, Args const&... args) {
    return create(request_of(function, args...));
  }
  /// Asynchronous version of create_per_worker_value.
  /// @param function  name of the builder function
  /// @param args  JSON arguments without handles
  /// @return a handle to pass as a call argument
  template <class... Args>
  boost::asio::awaitable<per_worker_value> async_create_per_worker_value(std::string function,
                                                                         Args... args) {
    return async_create(request_of(function, args...));
  }

  /// Creates an object of a class on a task; see docs/objects.md. Waits for call outputs among the
  /// arguments. Returns once the server has accepted the request, even if the task is not connected
  /// yet. If the constructor fails, calls of the object throw its error.
  /// @param options  object options
  /// @param class_name  name under which the worker registered the class
  /// @param args  constructor arguments, as for schedule
  /// @return a handle of the object
  /// @throws closure_error  the server refused the request, for example because the name is taken
  /// @throws unavailable_error  the session has ended
  /// @throws std::invalid_argument  an option is invalid
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
  /// muster::variable. Throws the same exceptions as create.
  /// @param o  variable options
  /// @param of  shape
  template <class T>
  variable<T> make_variable(variable_options const& o, shape const& of) {
    return variable<T>(make_variable_core(o, detail::dtype_of<T>, of, nullptr));
  }
  /// Creates a variable with initial values. If a task receives more than 24 MiB, waits until the
  /// task has stored all values.
  /// @param o  variable options
  /// @param of  shape
  /// @param values  the elements in C order
  /// @throws std::invalid_argument  the number of values does not match the shape
  /// @throws closure_error  see create; also if the task reports an error
  template <class T>
  variable<T> make_variable(variable_options const& o, shape const& of, std::span<T const> values) {
    std::uint64_t n = 1;
    for (auto const d : of) n *= d;
    if (values.size() != n)
      throw std::invalid_argument("shape: " + detail::shown(of) + ", but there are " +
                                  std::to_string(values.size()) + " numbers");
    auto const all = detail::view_of(values, of);
    return variable<T>(make_variable_core(o, detail::dtype_of<T>, of, &all));
  }
  /// Creates a variable with initial values from a vector.
  /// @param o  variable options
  /// @param of  shape
  /// @param values  the elements in C order
  template <class T>
  variable<T> make_variable(variable_options const& o, shape const& of,
                            std::vector<T> const& values) {
    return make_variable<T>(o, of, std::span<T const>(values));
  }
  /// Returns a handle of the variable with this name, created by any coordinator. Waits until the
  /// variable's task has returned the shape. Throws the same exceptions as get_object.
  /// @param name  the variable's variable_options::name
  /// @throws std::invalid_argument  the object is not a variable with elements of type T
  template <class T>
  variable<T> get_variable(std::string const& name) {
    return variable<T>(find_variable_core(name));
  }

  /// Writes a checkpoint of all variables that this coordinator has created or looked up, and of
  /// all objects that it has created with object_options::saved. No shard is saved in the middle of
  /// a call. Python can read the checkpoint.
  /// @param path  a directory; the tasks do not need access to it
  /// @param o  checkpoint options
  /// @return the number of the checkpoint, which is on disk when the function returns
  /// @throws std::invalid_argument  a variable has no name, or checkpoint_options::keep is 0
  /// @throws std::system_error  a file could not be written
  /// @throws closure_error  the error of a call, or with `quiesce` the pending error
  /// @throws wait_timeout  with `quiesce`: running calls did not end in time
  std::uint64_t save(std::string const& path, checkpoint_options const& o = {});
  /// Loads the newest complete checkpoint into all variables and objects that save() would save.
  /// Create these variables and objects first. Checkpoint entries are matched by name; the number
  /// of shards can differ. Entries without a match are ignored.
  /// @param path  the directory given to save()
  /// @return the checkpoint number, or nothing if there is no checkpoint
  /// @throws std::invalid_argument  no checkpoint is complete, or an entry is missing or has a
  ///   different shape; nothing was loaded
  /// @throws closure_error  the error of a call
  std::optional<std::uint64_t> restore(std::string const& path);
  /// Saves a checkpoint at regular intervals, on a separate thread; see periodic_checkpoints.
  /// @param path  the directory
  /// @param every  the interval
  /// @param o  checkpoint options
  /// @return an object that stops saving when it is destroyed
  /// @throws std::invalid_argument  `every` or `keep` is invalid
  [[nodiscard]] periodic_checkpoints checkpoints(std::string const& path, milliseconds every,
                                                 checkpoint_options const& o = {.keep = 3});

  /// Waits until all calls submitted or scheduled before this call have finished.
  /// @param timeout  maximum time to wait
  /// @return false on timeout
  /// @throws closure_error  or a subtype: the pending error of this generation
  /// @throws unavailable_error  the session has ended
  bool join(milliseconds timeout = detail::for_ever);
  /// Asynchronous version of join.
  /// @param timeout  maximum time to wait
  boost::asio::awaitable<bool> async_join(milliseconds timeout = detail::for_ever);
  /// Returns true if all calls have finished. After an error, waits until the cancelled calls have
  /// finished, and throws the error.
  bool done();

  /// Fetches all remote_values in a structure of nested vectors, arrays, maps with string keys,
  /// tuples, pairs and optionals.
  /// @param s  the structure
  /// @param timeout  maximum time to wait for all values together
  /// @return the structure with values in place of the handles; other members are copied
  /// @throws closure_error  or a subtype: the first error encountered
  /// @throws wait_timeout  a value was not ready in time
  template <class Structure>
  auto fetch(Structure const& s, milliseconds timeout = detail::for_ever) {
    return detail::fetch_all(s, std::chrono::steady_clock::now() + timeout);
  }

  /// Cancels queued calls and asks running calls to stop. Later calls are not cancelled, but start
  /// only after the cancelled calls have finished. Only the values of cancelled calls report the
  /// cancellation.
  void cancel();
  /// Returns the first 1,000 errors of scheduled calls, in the order in which the calls finished.
  /// Omits cancelled calls. If this generation has no errors, returns the errors of the newest
  /// generation that failed.
  std::vector<failure> failures() const;

  /// Builds a request. Used by the library.
  /// @param function  function name
  /// @param args  JSON arguments
  template <class... Args>
  static detail::request request_of(std::string_view function, Args const&... args) {
    detail::request r{std::string(function), {}, encoding::json, {}, {}, {}, {}};
    detail::append_arguments(r, args...);
    return r;
  }
  /// Builds a request with encoded arguments. Used by the library.
  /// @param function  function name
  /// @param args  encoded arguments
  static detail::request raw_request(std::string_view function, value_view args) {
    return {std::string(function), std::string(args.bytes), args.encoding, {}, {}, {}, {}};
  }
  /// Marks a request as submitted. Used by the library.
  /// @param r  the request
  static detail::request submitted(detail::request r) {
    r.own_error = true;
    return r;
  }
  /// Sends a request. Used by the library.
  /// @param r  the request
  std::shared_ptr<detail::value_handle const> put(detail::request r);
  /// Asynchronous version of put.
  /// @param r  the request
  boost::asio::awaitable<std::shared_ptr<detail::value_handle const>> async_put(detail::request r);
  /// Sends the requests of a gang. Used by the library.
  /// @param all  the requests
  std::vector<std::shared_ptr<detail::value_handle const>> put_gang(
      std::vector<detail::request> all);
  /// Asynchronous version of put_gang.
  /// @param all  the requests
  boost::asio::awaitable<std::vector<std::shared_ptr<detail::value_handle const>>> async_put_gang(
      std::vector<detail::request> all);
  /// Creates a per-worker value. Used by the library.
  /// @param r  the request
  per_worker_value create(detail::request r);
  /// Creates an object. Used by the library.
  /// @param o  options of the object
  /// @param r  the request
  remote_object make_object(object_options const& o, detail::request r);
  /// Asynchronous version of create.
  /// @param r  the request
  boost::asio::awaitable<per_worker_value> async_create(detail::request r);

 private:
  void refuse_to_wait_for_itself() const;
  std::shared_ptr<detail::variable_core const> make_variable_core(variable_options const& o,
                                                                  std::string_view dtype,
                                                                  shape const& of,
                                                                  detail::array_view const* values);
  std::shared_ptr<detail::variable_core const> find_variable_core(std::string const& name);

  std::shared_ptr<client_engine> engine_;  // the engine must outlive the stream
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

// Does not use `this` after suspending, because this object can be destroyed before the call
// finishes. The coordinator outlives the call.
template <class Result, class... Args>
boost::asio::awaitable<std::vector<remote_value<Result>>> scheduling::async_submit_gang(
    std::string function, std::vector<std::tuple<Args...>> members) const {
  auto all = gang_of(function, members);
  for (auto& r : all) r.own_error = true;
  return detail::values_of<Result>(coordinator_.async_put_gang(std::move(all)));
}

/// Runs a part of the client program. If `block` throws unavailable_error, exits the process so
/// that a supervisor restarts it. The exit status is read from the environment variable
/// TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE. Rethrows the error if the variable is unset or not a
/// number.
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
