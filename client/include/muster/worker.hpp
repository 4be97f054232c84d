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
/// muster::worker w({.server = "127.0.0.1:8476", .slots = 4});
/// w.function("add", [](int a, int b) { return a + b; });
/// return w.run();
/// @endcode
///
/// Functions run on worker_options::slots threads, quick functions on the thread of the connection.
/// Every call is answered exactly once.
///
/// If the connection breaks, running functions continue. The worker reconnects with the same
/// incarnation, reports the calls that it holds, and repeats answers that the server may not have
/// received. Calls that the server no longer wants are asked to stop, and their results are
/// dropped.
///
/// One thread creates and runs the worker; stop() may be called from any thread.
class worker {
 public:
  /// Checks the options without connecting.
  /// @param options  the servers, the number of slots and times
  /// @throws std::invalid_argument  names the invalid option: no server, no slots, or fewer credits
  ///   than slots
  explicit worker(worker_options options);
  /// Frees the worker. Precondition: run() is not running.
  ~worker();
  worker(worker const&) = delete;
  worker& operator=(worker const&) = delete;

  /// Adds a function. Several threads can call it at the same time if there is more than one slot.
  /// Its exceptions become failures; see function_error. Must be called before run().
  /// @param name  name of the function, 1 to 256 bytes
  /// @param f  a callable whose parameters boost::json::value_to can create and whose result
  ///   boost::json::value_from can convert (void becomes null). Its first parameter can be a
  ///   `context&`. Trailing std::optional parameters can be omitted in calls.
  /// @param parameters  names of the parameters, in order, for keyword arguments
  /// @throws std::invalid_argument  the name is taken or invalid
  template <class F>
  void function(std::string name, F f, std::vector<std::string> parameters = {}) {
    add(std::move(name), make_raw(std::move(f), std::move(parameters)), false, true);
  }
  /// Adds a function that runs on the thread of the connection, which saves a thread switch. It
  /// must return within microseconds, because the worker does nothing else during that time. Throws
  /// as function.
  /// @param name  name of the function, 1 to 256 bytes
  /// @param f  a callable, as for function
  /// @param parameters  names of the parameters, in order, for keyword arguments
  template <class F>
  void quick_function(std::string name, F f, std::vector<std::string> parameters = {}) {
    add(std::move(name), make_raw(std::move(f), std::move(parameters)), true, true);
  }
  /// Adds a function of encoded values. Throws as function.
  /// @param name  name of the function, 1 to 256 bytes
  /// @param f  the function
  void raw_function(std::string name, muster::raw_function f) {
    add(std::move(name), std::move(f), false, false);
  }
  /// Adds a function of encoded values that runs on the thread of the connection; see
  /// quick_function.
  /// @param name  name of the function, 1 to 256 bytes
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

  /// Lets this worker run ranks of programs; used by `muster worker`. Must be called before run().
  /// @param ranks  runs the ranks (client/programs)
  void take_programs(std::unique_ptr<rank_side> ranks);

  /// Runs the worker until stop(), a drain by the server, or a status that forbids reconnecting.
  /// Returns when every function has returned. Can be called once.
  /// @return 0 after an orderly end, otherwise 1; the log contains the reason
  int run();

  /// Asks run() to finish the calls it holds and return. A second call asks running functions to
  /// stop and does not wait for the server. May be called from any thread and in a signal handler.
  void stop() noexcept;

 private:
  /// Adds a function; `typed` if make_raw created it.
  void add(std::string name, muster::raw_function f, bool quick, bool typed);
  void add(detail::class_entry c);

  class runtime;
  std::unique_ptr<runtime> runtime_;
};

}  // namespace muster
