// A worker, which runs functions for coordinators.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "muster/context.hpp"
#include "muster/function.hpp"
#include "muster/object_class.hpp"
#include "muster/worker_options.hpp"

namespace muster {

class rank_side;

/// Runs named functions for coordinators.
///
/// @code
/// muster::worker w({.server = "127.0.0.1:8476",.slots = 4});
/// w.function("add", [](int a, int b) { return a + b; });
/// return w.run();
/// @endcode
///
/// Functions run on worker_options::slots threads; quick functions run on the connection thread.
/// Every call is answered exactly once.
///
/// If the connection breaks, running functions continue. The worker reconnects with the same
/// incarnation, reports its unfinished calls, and resends answers that the server may not have
/// received. Calls that the server no longer needs are asked to stop.
///
/// The worker must be created and run on one thread; stop() may be called from any thread.
class worker {
 public:
  /// Validates the options without connecting.
  /// @param options  worker options
  /// @throws std::invalid_argument  no server or no slot is specified, or there are fewer credits
  ///   than slots
  explicit worker(worker_options options);
  /// Precondition: run() is not running.
  ~worker();
  worker(worker const&) = delete;
  worker& operator=(worker const&) = delete;

  /// Adds a function. If there is more than one slot, several threads can call the function at the
  /// same time. Exceptions thrown by the function become failures; see function_error. Must be
  /// called before run().
  /// @param name  function name, 1 to 256 bytes
  /// @param f  a callable whose parameters boost::json::value_to can create and whose result
  ///   boost::json::value_from can convert (void becomes null). Its first parameter can be a
  ///   `context&`. Trailing std::optional parameters can be omitted in calls.
  /// @param parameters  ordered parameter names, for keyword arguments
  /// @throws std::invalid_argument  the name is taken or invalid
  template <class F>
  void function(std::string name, F f, std::vector<std::string> parameters = {}) {
    add(std::move(name), make_raw(std::move(f), std::move(parameters)), false, true);
  }
  /// Adds a function that runs on the connection thread, which saves a thread switch. The function
  /// must return within microseconds, because it blocks the worker. Throws the same exceptions as
  /// function.
  /// @param name  function name, 1 to 256 bytes
  /// @param f  a callable; see function
  /// @param parameters  ordered parameter names, for keyword arguments
  template <class F>
  void quick_function(std::string name, F f, std::vector<std::string> parameters = {}) {
    add(std::move(name), make_raw(std::move(f), std::move(parameters)), true, true);
  }
  /// Adds a function that reads and returns encoded values. Throws the same exceptions as function.
  /// @param name  function name, 1 to 256 bytes
  /// @param f  the function
  void raw_function(std::string name, muster::raw_function f) {
    add(std::move(name), std::move(f), false, false);
  }
  /// Adds a function that takes encoded values and runs on the connection thread; see
  /// quick_function.
  /// @param name  function name, 1 to 256 bytes
  /// @param f  the function
  void quick_raw_function(std::string name, muster::raw_function f) {
    add(std::move(name), std::move(f), true, false);
  }

  /// Adds a class whose objects coordinators can create on this worker. Must be called before
  /// run().
  /// @param c  the class
  /// @throws std::invalid_argument  the name is taken, empty or longer than 256 bytes, or the class
  ///   has no constructor
  template <class T>
  void object(object_class<T> const& c) {
    add(c.entry());
  }

  /// Enables this worker to run program ranks; used by `muster worker`. Must be called before
  /// run().
  /// @param ranks  runs the ranks (client/programs)
  void take_programs(std::unique_ptr<rank_side> ranks);

  /// Runs the worker until stop() is called, the server drains it, or the server forbids
  /// reconnecting. Returns after every function has returned. Can be called only once.
  /// @return 0 after a normal end, otherwise 1; the reason is logged
  int run();

  /// Asks run() to finish its unfinished calls and return. A second call also asks running
  /// functions to stop and does not wait for the server. May be called from any thread and in a
  /// signal handler.
  void stop() noexcept;

 private:
  /// Adds a function; `typed` is true if make_raw created the function.
  void add(std::string name, muster::raw_function f, bool quick, bool typed);
  void add(detail::class_entry c);

  class runtime;
  std::unique_ptr<runtime> runtime_;
};

}  // namespace muster
