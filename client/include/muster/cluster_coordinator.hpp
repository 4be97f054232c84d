// Calls functions on the cluster's workers, and waits for them.
//
//   muster::cluster_coordinator c({.server = "127.0.0.1:8476", .name = "training"});
//   muster::remote_value<int> sum = c.submit<int>("add", 1, 2);
//   auto more = c.submit<int>("add", sum, 3);   // an output as an argument: nothing waits here
//   more.fetch();                               // 6, or throws the error of this call
//
// Calls run at least once and finish once, in any order. A call is submitted or scheduled:
// - submit: each call has an error of its own, which affects no other call.
// - schedule: the semantics of TensorFlow's ClusterCoordinator. The first error cancels the other
//   scheduled calls. The next schedule, join or done throws it once, after all of them have ended.
//   Then the coordinator goes on, with the next generation.
// Every member may be called from any thread.
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
/// coordinator lives. Each member does what the coordinator's member of that name does.
class scheduling {
 public:
  scheduling(cluster_coordinator& c, closure_options o)
      : coordinator_(c), options_(std::make_shared<closure_options const>(std::move(o))) {}

  template <class Result, class... Args>
  remote_value<Result> submit(std::string_view function, Args const&... args) const;
  template <class Result, class... Args>
  boost::asio::awaitable<remote_value<Result>> async_submit(std::string function,
                                                            Args... args) const;
  template <class Result>
  remote_value<Result> submit_raw(std::string_view function, value_view args) const;
  template <class Result, class... Args>
  std::vector<remote_value<Result>> submit_gang(
      std::string_view function, std::vector<std::tuple<Args...>> const& members) const;
  template <class Result, class... Args>
  boost::asio::awaitable<std::vector<remote_value<Result>>> async_submit_gang(
      std::string function, std::vector<std::tuple<Args...>> members) const;

  template <class Result, class... Args>
  remote_value<Result> schedule(std::string_view function, Args const&... args) const;
  template <class Result>
  remote_value<Result> schedule_raw(std::string_view function, value_view args) const;
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

class cluster_coordinator {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// Starts connecting.
  explicit cluster_coordinator(coordinator_options options);
  /// Cancels what is left and closes the session, unless options.detached. Values that were here
  /// already stay readable by their handles; no thread of the library is left behind.
  ~cluster_coordinator();
  cluster_coordinator(cluster_coordinator const&) = delete;
  cluster_coordinator& operator=(cluster_coordinator const&) = delete;

  /// Waits until the server has opened the session; not needed before anything else. Errors:
  /// unavailable_error with the server's reason, or that it did not answer in connect_timeout.
  void wait_open();
  /// "job_…", as REST shows it. REQUIRES: wait_open() returned.
  std::string id() const;

  /// Submits a call of a function that workers serve. Its error is thrown by the fetch of its value
  /// and by no other member, and it cancels no other call. Errors of other calls do not cancel it;
  /// only its value's cancel(), cancel(), and the end of the coordinator do. join() waits for it.
  /// Waits while the queue is full. A server without support for it schedules the call instead.
  /// @tparam Result  what the function returns; void ignores it
  /// @param function  its name
  /// @param args  JSON arguments, the last of them perhaps by name (keyword.hpp). remote_values
  ///   among them, at any depth of vectors, maps, tuples and optionals, are replaced by their
  ///   values on the worker
  /// @return a handle of the output
  /// @throws wait_timeout  no room within coordinator_options.schedule_timeout
  /// @throws unavailable_error  the session has ended
  /// @throws std::invalid_argument  the arguments are too large, one is named twice, or one is a
  ///   value of another coordinator that is not ready
  template <class Result, class... Args>
  remote_value<Result> submit(std::string_view function, Args const&... args) {
    return remote_value<Result>(put(submitted(request_of(function, args...))));
  }
  /// Asynchronous version of submit, for a coroutine on any executor: it is suspended while the
  /// queue is full. Cancelling the wait submits nothing.
  /// @param function  its name
  /// @param args  as of submit
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
  /// Submits a call whose arguments are given as they go over the wire.
  /// @param function  its name
  /// @param args  a JSON array, or {"args":[…],"kwargs":{…}}, or bytes
  /// @return a handle of the output
  /// @throws wait_timeout, unavailable_error, std::invalid_argument  as submit
  template <class Result>
  remote_value<Result> submit_raw(std::string_view function, value_view args) {
    return remote_value<Result>(put(submitted(raw_request(function, args))));
  }
  /// Submits a call for each member's arguments. The calls start together, each in a slot of its
  /// own, or wait for each other. If one of them ends before the gang has started, for example
  /// because its input failed, the others are cancelled. After the start each call ends by itself.
  /// No other call is affected. Members must not need each other's outputs.
  /// @param function  its name
  /// @param members  the arguments of each call, 1 to 1024 of them
  /// @return the handles of the outputs, in the order of `members`
  /// @throws wait_timeout, unavailable_error  as submit
  /// @throws std::invalid_argument  as submit; there is no member, or more than 1024
  template <class Result, class... Args>
  std::vector<remote_value<Result>> submit_gang(std::string_view function,
                                                std::vector<std::tuple<Args...>> const& members) {
    return with({}).submit_gang<Result>(function, members);
  }
  /// Asynchronous version of submit_gang; it waits for room as async_submit does.
  template <class Result, class... Args>
  boost::asio::awaitable<std::vector<remote_value<Result>>> async_submit_gang(
      std::string function, std::vector<std::tuple<Args...>> members) {
    return with({}).async_submit_gang<Result>(std::move(function), std::move(members));
  }

  /// Schedules a call with JSON arguments, the last of them by name, perhaps (keyword.hpp);
  /// remote_values among them, at any depth of vectors, maps, tuples and optionals, become inputs.
  /// Its error cancels the other scheduled calls; prefer submit unless you need that.
  /// Waits while the queue is full. Errors: the pending error
  /// of this generation (nothing is scheduled then), wait_timeout, unavailable_error,
  /// std::invalid_argument (arguments too large, one named twice, a value of another coordinator
  /// that is not ready).
  template <class Result, class... Args>
  remote_value<Result> schedule(std::string_view function, Args const&... args) {
    return remote_value<Result>(put(request_of(function, args...)));
  }
  /// The same for a coroutine on any executor: it is suspended while the queue is full, or an error
  /// is being drained. Cancellation ends the wait with operation_aborted; nothing is scheduled
  /// then.
  template <class Result, class... Args>
  boost::asio::awaitable<remote_value<Result>> async_schedule(std::string function, Args... args) {
    auto request = request_of(function, args...);
    auto putting = async_put(std::move(request));
    auto handle = co_await std::move(putting);
    co_return remote_value<Result>(std::move(handle));
  }
  /// Arguments as they go over the wire: a JSON array or {"args":[…],"kwargs":{…}}, or bytes.
  template <class Result>
  remote_value<Result> schedule_raw(std::string_view function, value_view args) {
    return remote_value<Result>(put(raw_request(function, args)));
  }
  /// Schedules a call for each member's arguments; they start together, each in a slot of its own,
  /// or wait for each other. If one of them ends before the start, the others are cancelled.
  /// Members must not need each other's outputs. Errors: as of schedule; std::invalid_argument
  /// (none, or more than 1024).
  template <class Result, class... Args>
  std::vector<remote_value<Result>> schedule_gang(std::string_view function,
                                                  std::vector<std::tuple<Args...>> const& members) {
    return with({}).schedule_gang<Result>(function, members);
  }
  /// Returns this coordinator with options: c.with({.priority = 5}).submit<int>("f")
  scheduling with(closure_options options) { return {*this, std::move(options)}; }

  /// Lets every worker that has the function, now or later, build a value and keep it; see
  /// per_worker_value.hpp. Returns when the server has taken it, not when it is built. Arguments
  /// are plain: no handles, as it is built again when a worker comes back. An error or a cancel of
  /// the session does not touch it; join and done do not wait for it. Errors: input_error (refused:
  /// the server keeps too many), unavailable_error, std::invalid_argument.
  template <class... Args>
  per_worker_value create_per_worker_value(std::string_view function, Args const&... args) {
    return create(request_of(function, args...));
  }
  template <class... Args>
  boost::asio::awaitable<per_worker_value> async_create_per_worker_value(std::string function,
                                                                         Args... args) {
    return async_create(request_of(function, args...));
  }

  /// Makes an object of a class on a task, with arguments as those of schedule; outputs among them
  /// are waited for. Returns when the server has taken it, also before the task is there: an error
  /// of making it is raised by its calls. See docs/objects.md. Errors: closure_error (refused, as
  /// when the name is taken), unavailable_error, std::invalid_argument (an option, named).
  template <class... Args>
  remote_object create(object_options const& options, std::string_view class_name,
                       Args const&... args) {
    return make_object(options, request_of(class_name, args...));
  }
  /// By its name. Errors: closure_error (there is none), unavailable_error.
  remote_object get_object(std::string const& name);

  /// Makes a variable full of zeros or ones, on a task, or in shards of rows as a partitioner says;
  /// see variable.hpp. Errors: as of create.
  template <class T>
  variable<T> make_variable(variable_options const& o, shape const& of) {
    return variable<T>(make_variable_core(o, detail::dtype_of<T>, of, nullptr));
  }
  /// Of these numbers. Where more than 24 MiB go to a task it waits until they are there. Errors:
  /// also std::invalid_argument (not as many as the shape says), those of its task.
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
  template <class T>
  variable<T> make_variable(variable_options const& o, shape const& of,
                            std::vector<T> const& values) {
    return make_variable<T>(o, of, std::span<T const>(values));
  }
  /// By its name, whole or in shards, whoever has made it. Waits for it to say its shape. Errors:
  /// as of get_object; std::invalid_argument (no variable of T).
  template <class T>
  variable<T> get_variable(std::string const& name) {
    return variable<T>(find_variable_core(name));
  }

  /// Writes a checkpoint below the directory `path`, which only this program needs to see: all
  /// variables that it has made or found, each shard between two of its calls, and all objects that
  /// it has made with object_options.saved. Returns its number once it is on the disk. Python reads
  /// it, too. Errors: std::invalid_argument (one has no name), std::system_error, those of calls;
  /// of quiesce also wait_timeout and the pending error.
  std::uint64_t save(std::string const& path, checkpoint_options const& o = {});
  /// Loads the newest whole checkpoint below `path` into what save() would save, by name, in
  /// whatever number of shards; what else it has is passed over. Make all of it first. Returns its
  /// number; nothing: there is none. Errors: std::invalid_argument (none is whole; it has not all
  /// of them, or of other shapes: then nothing was loaded), those of calls.
  std::optional<std::uint64_t> restore(std::string const& path);
  /// Saves from time to time, on a thread of its own; see periodic_checkpoints. Errors:
  /// std::invalid_argument (every, keep).
  [[nodiscard]] periodic_checkpoints checkpoints(std::string const& path, milliseconds every,
                                                 checkpoint_options const& o = {.keep = 3});

  /// Waits until every call that was submitted or scheduled before has ended; what other threads
  /// add meanwhile does not delay it. False: not within `timeout`. Errors: the pending error,
  /// unavailable_error.
  bool join(milliseconds timeout = detail::for_ever);
  boost::asio::awaitable<bool> async_join(milliseconds timeout = detail::for_ever);
  /// Whether nothing is left. Waits only for the drain of an error, which it raises.
  bool done();

  /// A structure of remote_values (vectors, arrays, maps by string, tuples, pairs, optionals,
  /// nested) as the same structure of values; other members are copied. Errors: as of fetch, the
  /// first met.
  template <class Structure>
  auto fetch(Structure const& s, milliseconds timeout = detail::for_ever) {
    return detail::fetch_all(s, std::chrono::steady_clock::now() + timeout);
  }

  /// Cancels what is queued and asks what runs to stop. What is scheduled after it waits until they
  /// have, and is not concerned. No error is raised for it; each value has its own.
  void cancel();
  /// Errors of scheduled calls, in the order in which they ended, cancelled ones left out: of this
  /// generation, or of the newest that failed. At most the first thousand.
  std::vector<failure> failures() const;

  /// For submit and schedule only.
  template <class... Args>
  static detail::request request_of(std::string_view function, Args const&... args) {
    detail::request r{std::string(function), {}, encoding::json, {}, {}, {}, {}};
    detail::append_arguments(r, args...);
    return r;
  }
  static detail::request raw_request(std::string_view function, value_view args) {
    return {std::string(function), std::string(args.bytes), args.encoding, {}, {}, {}, {}};
  }
  static detail::request submitted(detail::request r) {
    r.own_error = true;
    return r;
  }
  std::shared_ptr<detail::value_handle const> put(detail::request r);
  boost::asio::awaitable<std::shared_ptr<detail::value_handle const>> async_put(detail::request r);
  std::vector<std::shared_ptr<detail::value_handle const>> put_gang(
      std::vector<detail::request> all);
  boost::asio::awaitable<std::vector<std::shared_ptr<detail::value_handle const>>> async_put_gang(
      std::vector<detail::request> all);
  per_worker_value create(detail::request r);
  remote_object make_object(object_options const& o, detail::request r);
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

// The coordinator outlives the call; this object may not, so nothing of it is used behind the wait.
template <class Result, class... Args>
boost::asio::awaitable<std::vector<remote_value<Result>>> scheduling::async_submit_gang(
    std::string function, std::vector<std::tuple<Args...>> members) const {
  auto all = gang_of(function, members);
  for (auto& r : all) r.own_error = true;
  return detail::values_of<Result>(coordinator_.async_put_gang(std::move(all)));
}

/// Runs a block of the client's program. If it fails because something it relies on is gone, the
/// process ends with the exit status in TF_CLIENT_NON_FATAL_RESTART_EXIT_CODE, so that whoever
/// started it starts it again; without that variable (or if it is no number) the error is raised.
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
